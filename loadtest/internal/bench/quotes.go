package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/shared/pricing"
)

const (
	quotesName      = "quotes"
	bruteForceRatio = "quote30_vs_brute_force"
	quoteP99        = "quote30_p99_ms"
	triedAllTotal   = "quote30_brute_force_ms" // on average, of the carts that were priced both ways
	searchTotal     = "quote30_search_ms"      // of the same carts
)

// quotes prices random carts, some of them by brute force too, which must find the same.
// Every round has carts of its own.
func (b *bench) quotes(ctx context.Context, round int, f figures) (err error) {
	stop, err := b.watchSelf(quotesName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r := rand.New(rand.NewPCG(quoteSeed, uint64(round)))
	var took []time.Duration
	var search, all time.Duration
	var nodes, sets int64
	for n := range b.Quotes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cart := randomCart(r)
		began := time.Now()
		best, err := pricing.Best(cart)
		took = append(took, time.Since(began))
		if err != nil {
			return fmt.Errorf("cannot price cart: %w", err)
		}
		nodes += best.Nodes
		if n >= b.TriedAll {
			continue
		}
		tried, of, err := tryAll(cart, best.PayableMinor)
		if err != nil {
			return err
		}
		search, all, sets = search+took[n], all+tried, sets+of
	}
	slices.Sort(took)
	f[quoteP99], f["quote30_p50_ms"] = milliseconds(took[len(took)*99/100]), milliseconds(took[len(took)/2])
	f[searchTotal], f[triedAllTotal] = milliseconds(search)/float64(b.TriedAll), milliseconds(all)/float64(b.TriedAll)
	f["quote30_nodes"], f["quote30_sets"] = float64(nodes)/float64(b.Quotes), float64(sets)/float64(b.TriedAll)
	b.say("%-26s p50 %7.3f ms   p99 %7.3f ms   brute force %.1f ms, %.0f sets", quotesName, f["quote30_p50_ms"], f[quoteP99], f[triedAllTotal], f["quote30_sets"])
	return nil
}

// tryAll prices a cart by brute force.
func tryAll(cart pricing.Cart, payable int64) (took time.Duration, sets int64, err error) {
	began := time.Now()
	all, sets, err := pricing.BestOfAll(cart)
	took = time.Since(began)
	if err == nil && all.PayableMinor != payable {
		err = fmt.Errorf("the search finds %d to be paid, brute force %d", payable, all.PayableMinor)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cannot price cart: %w", err)
	}
	return took, sets, nil
}
