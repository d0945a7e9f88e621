package fulfil

import (
	"context"
	"sync"
	"time"
)

// keeper renews the ack wait of the deliveries in hand, so that a slow batch, or
// one that waits its turn, is not delivered to another worker meanwhile.
type keeper struct {
	every time.Duration
	done  chan struct{} // closed by the consumer once nothing is in hand any more

	mu   sync.Mutex
	hand map[uint64]kept // by sequence
}

// kept is one hand-over. After a break of the connection it may be delivered again while
// it is in hand: then it is there twice, and stays until both are released.
type kept struct {
	last  Reply
	times int
}

func newKeeper(ackWait time.Duration) *keeper {
	return &keeper{every: ackWait / 3, done: make(chan struct{}), hand: map[uint64]kept{}}
}

// run renews until the consumer is done, or the work is dropped.
func (k *keeper) run(work context.Context) {
	ticker := time.NewTicker(k.every)
	defer ticker.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-k.done:
			return
		case <-ticker.C:
			k.renew()
		}
	}
}

func (k *keeper) renew() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.hand {
		// One that fails is redelivered, which is harmless.
		_ = h.last.InProgress()
	}
}

func (k *keeper) keep(deliveries []Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range deliveries {
		k.hand[d.Seq] = kept{d.Reply, k.hand[d.Seq].times + 1}
	}
}

// release ends the keeping. It must come before Ack and NakAfter: a renewal
// after NakAfter would postpone the redelivery.
func (k *keeper) release(deliveries []Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range deliveries {
		h := k.hand[d.Seq]
		if h.times--; h.times > 0 {
			k.hand[d.Seq] = h
			continue
		}
		delete(k.hand, d.Seq)
	}
}
