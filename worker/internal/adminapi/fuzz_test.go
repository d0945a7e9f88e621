package adminapi

import (
	"testing"

	"sluice/shared/sale"
)

func FuzzReadAdjustment(f *testing.F) {
	for _, seed := range []string{`{"adjustment_id":"a-1","delta":5}`, `{"adjustment_id":"a-1","delta":-5}`, `{"adjustment_id":"","delta":0}`, `{"delta":1e9}`, "", "{}", `{"adjustment_id":"a","delta":5,"delta":6}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var a sale.Adjustment
		if bad := readAdjustment(body, &a); bad != nil {
			if bad.Status != 400 || bad.Field == "" || bad.Detail == "" {
				t.Errorf("%q is refused by %+v", body, bad)
			}
			return
		}
		if err := sale.ValidateAdjustmentID(a.ID); err != nil || a.Delta == 0 || max(a.Delta, -a.Delta) > sale.MaxTotal {
			t.Errorf("%q is taken as %+v, %v", body, a, err)
		}
	})
}
