package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const heedWithin = 10 * time.Second

// setPace has an operator pause the making of orders or resume it, of all sales, and
// returns once every worker heeds it.
func (r *Round) setPace(ctx context.Context, what string) error {
	for _, w := range r.stack.Info().Workers {
		var last error // a worker that was killed is not back yet
		err := r.until(ctx, heedWithin, "a worker heeds the pace's "+what, func() bool {
			var heeded bool
			heeded, last = r.askPace(ctx, w.AdminURL, what)
			return heeded
		})
		if err != nil {
			return errors.Join(err, last)
		}
	}
	return nil
}

// askPace reports whether the worker that answers heeds what is wanted.
func (r *Round) askPace(ctx context.Context, adminURL, what string) (heeded bool, err error) {
	status, answer, err := r.operate(ctx, adminURL, "/pace/"+what, "")
	if err != nil {
		return false, err
	}
	var body struct {
		Applied bool `json:"applied"`
	}
	if status != http.StatusOK || json.Unmarshal(answer, &body) != nil {
		return false, fmt.Errorf("cannot %s the pace: answered %d: %s", what, status, answer)
	}
	return body.Applied, nil
}
