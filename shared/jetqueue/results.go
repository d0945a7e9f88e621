package jetqueue

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/shared/sale"
)

// appendResults writes by hand what encoding/json would write of results, since every
// order passes here.
func appendResults(b []byte, results []sale.Result) []byte {
	b = append(b, '[')
	for i, r := range results {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"rid":`...)
		b = appendString(b, r.RID)
		b = append(b, `,"status":"`...)
		b = append(b, r.Status...)
		b = append(b, '"')
		if r.Reason != "" {
			b = append(b, `,"reason":"`...)
			b = append(b, r.Reason...)
			b = append(b, '"')
		}
		if !r.PayBy.IsZero() {
			b = append(b, `,"pay_by":"`...)
			b = r.PayBy.AppendFormat(b, time.RFC3339Nano)
			b = append(b, '"')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// decodeResults reads what appendResults writes, and any other JSON that says the same.
func decodeResults(data []byte) (results []sale.Result, err error) {
	if results, ok := readResults(data); ok {
		return results, nil
	}
	if err := json.Unmarshal(data, &results); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return results, nil
}

// readResults reads results that are, byte for byte, as appendResults writes them.
func readResults(data []byte) ([]sale.Result, bool) {
	const shortest = 60 // bytes of a result, and a little less
	r := reader{rest: string(data)}
	results := make([]sale.Result, 0, len(data)/shortest)
	r.skip("[")
	for more := true; more && !r.lost; more = r.found(",") {
		results = append(results, r.result())
	}
	r.skip("]")
	return results, !r.lost && r.rest == ""
}

func (r *reader) result() (v sale.Result) {
	r.skip(`{"rid":"`)
	v.RID = r.text()
	r.skip(`,"status":"`)
	v.Status = sale.Status(r.text())
	if r.found(`,"reason":"`) {
		v.Reason = sale.Reason(r.text())
	}
	if r.found(`,"pay_by":"`) {
		var err error
		v.PayBy, err = time.Parse(time.RFC3339Nano, r.text())
		r.lost = r.lost || err != nil
	}
	r.skip("}")
	return v
}
