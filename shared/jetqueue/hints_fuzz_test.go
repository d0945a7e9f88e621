package jetqueue

import (
	"testing"

	"sluice/shared/sale"
)

// FuzzHints reads what anybody in the network of the stores may say of a sale.
func FuzzHints(f *testing.F) {
	f.Add(snapshotsPrefix+"phone", []byte(`{"sale_id":"phone","epoch":1,"version":2}`))
	f.Add(progressPrefix+"phone", []byte(`{"sale_id":"phone","epoch":1,"served":2}`))
	f.Add(progressPrefix, []byte(`{}`))
	f.Add("phone", []byte(`[1e999]`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		for _, prefix := range []string{snapshotsPrefix, progressPrefix, resultsPrefix} {
			if id, err := saleOfSubject(prefix, subject); err == nil && (sale.ValidateID(id) != nil || prefix+id != subject) {
				t.Errorf("%q is of sale %q", subject, id)
			}
		}
		_, _ = fromJSON[sale.Snapshot](data)
		_, _ = fromJSON[sale.Progress](data)
		_, _ = fromJSON[sale.Entry](data)
	})
}
