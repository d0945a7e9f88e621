package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	webhookWithin = 5 * time.Second
	endWithin     = 2 * time.Second // for a request that is under way when the worker ends
	firstBackoff  = time.Second     // before a request is made again; doubled each time
	mostBackoff   = time.Minute
	mostAlerts    = 100     // in one request
	mostAnswer    = 4 << 10 // bytes of an answer that are read
)

// notifier sends to the receiver, one request at a time. It keeps nothing but when it may
// try again: what is to be said is asked for each time.
type notifier struct {
	cfg     Config
	client  *http.Client
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet

	done    chan delivery // of the request under way
	busy    bool          // until its delivery was received
	cancel  context.CancelFunc
	backoff time.Duration
	after   time.Time                    // before it nothing is tried
	tried   map[sale.AlertName]time.Time // so that one refused group does not keep the others
}

// delivery is what became of a request.
type delivery struct {
	alerts map[sale.AlertKey]sale.Alert // as they were told
	err    error
}

func newNotifier(cfg Config, m *Metrics, log *slog.Logger) *notifier {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &notifier{cfg: cfg, client: client, metrics: m, log: log, done: make(chan delivery, 1), tried: map[sale.AlertName]time.Time{}}
}

// offer begins a request if there is something to say and none is under way.
func (n *notifier) offer(b book, now time.Time) {
	if n.cfg.Webhook == "" || n.busy || now.Before(n.after) {
		return
	}
	name, alerts := n.choose(b)
	if len(alerts) == 0 {
		return
	}
	n.busy, n.tried[name] = true, now
	sent := delivery{alerts: map[sale.AlertKey]sale.Alert{}}
	for _, a := range alerts {
		sent.alerts[a.AlertKey] = a
	}
	body := payloadOf(name, alerts, n.cfg)
	ctx, cancel := context.WithTimeout(context.Background(), webhookWithin)
	n.cancel = cancel
	go func() {
		defer cancel()
		sent.err = n.post(ctx, body)
		n.done <- sent
	}()
}

// choose takes the alerts of the name that has waited longest.
func (n *notifier) choose(b book) (name sale.AlertName, alerts []sale.Alert) {
	waiting := map[sale.AlertName][]sale.Alert{}
	for _, a := range b {
		if untold(a) != "" {
			waiting[a.Name] = append(waiting[a.Name], a)
		}
	}
	for candidate := range waiting {
		if name == "" || n.tried[candidate].Before(n.tried[name]) || n.tried[candidate].Equal(n.tried[name]) && candidate < name {
			name = candidate
		}
	}
	alerts = waiting[name]
	slices.SortFunc(alerts, func(x, y sale.Alert) int {
		return strings.Compare(x.SaleID+"\xff"+x.Dependency, y.SaleID+"\xff"+y.Dependency)
	})
	return name, alerts[:min(len(alerts), mostAlerts)]
}

// over takes note of a request's end; its delivery was received.
func (n *notifier) over(d delivery, now time.Time) {
	n.busy = false
	if d.err == nil {
		n.backoff, n.after = 0, time.Time{}
		n.metrics.notifications.WithLabelValues(resultSent).Inc()
		return
	}
	n.backoff = min(max(2*n.backoff, firstBackoff), mostBackoff)
	n.after = now.Add(n.backoff)
	n.metrics.notifications.WithLabelValues(resultFailed).Inc()
	if n.faults.Allow() {
		n.log.Warn("receiver of alerts not reached", "again_in", n.backoff, "error", d.err)
	}
}

// wait gives a request that is under way a moment.
func (n *notifier) wait() (d delivery, ok bool) {
	if !n.busy {
		return d, false
	}
	defer time.AfterFunc(endWithin, n.cancel).Stop()
	d = <-n.done
	n.busy = false
	return d, true
}

func (n *notifier) post(ctx context.Context, p payload) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("cannot encode alerts: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.cfg.Webhook, bytes.NewReader(body))
	if err != nil {
		return errors.New("cannot make a request of the webhook's url")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sluice")
	res, err := n.client.Do(req)
	if err != nil {
		// The URL may hold a secret.
		if with := new(url.Error); errors.As(err, &with) {
			err = with.Err
		}
		return fmt.Errorf("cannot send alerts: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, mostAnswer)) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver of alerts answered %s", res.Status)
	}
	return nil
}
