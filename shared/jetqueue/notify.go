package jetqueue

import (
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

// NotifyResults tells subscribers what became of some reservations of a sale.
// It fails at once while the connection is down; nothing is sent later.
func (q *Queue) NotifyResults(saleID string, results []sale.Result) error {
	const each = 128 // bytes of a result, and a little more
	return q.hint(resultsPrefix+saleID, appendResults(make([]byte, 0, each*(len(results)+1)), results))
}

// NotifyProgress tells subscribers how far a sale has been served. It fails at
// once while the connection is down; nothing is sent later.
func (q *Queue) NotifyProgress(p sale.Progress) error {
	return q.notify(progressPrefix+p.SaleID, p)
}

// NotifySnapshot tells subscribers that a sale's state has a new version. It
// fails at once while the connection is down; nothing is sent later.
func (q *Queue) NotifySnapshot(s sale.Snapshot) error {
	return q.notify(snapshotsPrefix+s.SaleID, s)
}

func (q *Queue) notify(subject string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cannot notify %s: %w", subject, err)
	}
	return q.hint(subject, data)
}

func (q *Queue) hint(subject string, data []byte) error {
	if err := q.conn.Publish(subject, data); err != nil {
		return fmt.Errorf("cannot notify %s: %w", subject, err)
	}
	return nil
}

// SubscribeResults calls handle with what workers decide, of all sales, from
// one goroutine, until stop is called. Results may be lost and may repeat.
func (q *Queue) SubscribeResults(handle func(saleID string, results []sale.Result)) (stop func(), err error) {
	return subscribe(q, resultsPrefix, decodeResults, handle)
}

// SubscribeProgress calls handle with the progress of all sales, from one
// goroutine, until stop is called. Progress may be lost and may come late.
func (q *Queue) SubscribeProgress(handle func(sale.Progress)) (stop func(), err error) {
	return subscribe(q, progressPrefix, fromJSON, func(saleID string, p sale.Progress) {
		if p.SaleID == saleID {
			handle(p)
		}
	})
}

// SubscribeSnapshots calls handle with the new states of all sales, from one
// goroutine, until stop is called. Snapshots may be lost and may come late.
func (q *Queue) SubscribeSnapshots(handle func(sale.Snapshot)) (stop func(), err error) {
	return subscribe(q, snapshotsPrefix, fromJSON, func(saleID string, s sale.Snapshot) {
		if s.SaleID == saleID {
			handle(s)
		}
	})
}

// subscribe decodes what comes under prefix. stop waits for the handler.
func subscribe[T any](q *Queue, prefix string, decode func([]byte) (T, error), handle func(string, T)) (stop func(), err error) {
	sub, err := q.conn.Subscribe(prefix+"*", func(msg *nats.Msg) {
		var value T
		saleID, err := saleOfSubject(prefix, msg.Subject)
		if err == nil {
			value, err = decode(msg.Data)
		}
		if err != nil {
			q.log.Debug("hint unreadable", "subject", msg.Subject, "error", err)
			return
		}
		handle(saleID, value)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot subscribe to %s*: %w", prefix, err)
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	return func() {
		if sub.Unsubscribe() == nil {
			<-ended
		}
	}, nil
}

func fromJSON[T any](data []byte) (value T, err error) {
	err = json.Unmarshal(data, &value)
	return value, err
}
