package mix

import (
	"bytes"
	"fmt"
	"time"
)

// window is how long the mix's sales are open, and how long those of role Early are not:
// longer than an attack.
const window = 24 * time.Hour

// SalesFile is a sales file, for warmup apply, with the sales of the mix: open from a
// minute before now, or, of role Early, not for a day.
func (m Mix) SalesFile(now time.Time) []byte {
	var text bytes.Buffer
	text.WriteString("sales:\n")
	for _, s := range m.Expanded() {
		opens := now.Add(-time.Minute)
		if s.Role == Early {
			opens = now.Add(window)
		}
		fmt.Fprintf(&text, "  - {id: %s, total: %d, price: 19900, per_user_limit: %d, opens_at: %s, closes_at: %s}\n",
			s.ID, s.Units, s.PerUserLimit, inFile(opens), inFile(opens.Add(window)))
	}
	return text.Bytes()
}

func inFile(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
