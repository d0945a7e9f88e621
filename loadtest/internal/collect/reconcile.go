package collect

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const reconcileTimeout = 30 * time.Second

// Reconcile has a worker, given by the URL of its ops listener, compare the stores now, and
// returns once it has.
func Reconcile(ctx context.Context, opsURL, adminToken string) error {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, opsURL+"/admin/v1/reconciliations", nil)
	if err != nil {
		return fmt.Errorf("cannot have the stores compared: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("cannot have the stores compared: %w", err)
	}
	defer resp.Body.Close() // its status says it all
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot have the stores compared: %s", resp.Status)
	}
	return nil
}
