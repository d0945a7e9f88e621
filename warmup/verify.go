package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/shared/service"
)

// A difference counts when it is seen in every look: the stores are read one
// after the other, and a release reaches Postgres before Redis.
const (
	verifyLooks = 3
	verifyPause = 300 * time.Millisecond
)

func runVerify(ctx context.Context, in input) error {
	var f storeFlags
	fs := newFlags(in, "verify", "[SALE...]")
	f.register(fs)
	ids, err := parseSaleIDs(service.ParseOperands(fs, in.args, in.getenv))
	if err != nil {
		return err
	}
	return withStores(ctx, in, f, func(ctx context.Context, s *stores) error { return s.verify(ctx, in.stdout, ids) })
}

// verify prints a table and returns an error when the stores differ.
func (s *stores) verify(ctx context.Context, w io.Writer, ids []string) error {
	var rows []comparison
	for look := range verifyLooks {
		if look > 0 {
			select {
			case <-ctx.Done():
				return fmt.Errorf("cannot verify: %w", ctx.Err())
			case <-time.After(verifyPause):
			}
		}
		var err error
		if rows, err = s.compare(ctx, ids); err != nil {
			return err
		}
		if differing(rows) == 0 {
			break
		}
	}
	if err := writeTable(w, rows); err != nil {
		return err
	}
	if n := differing(rows); n > 0 {
		return fmt.Errorf("postgres, redis and the catalogue differ in %d of %d sales", n, len(rows))
	}
	return nil
}

func differing(rows []comparison) int {
	n := 0
	for _, row := range rows {
		if len(row.differences) > 0 {
			n++
		}
	}
	return n
}

func writeTable(w io.Writer, rows []comparison) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SALE\tEPOCH\tFREE IN POSTGRES\tSTOCK IN REDIS\tUNDER WAY\tRESULT")
	for _, row := range rows {
		result := "same"
		if len(row.differences) > 0 {
			result = "DIFFERENT: " + strings.Join(row.differences, "; ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", row.saleID, row.epoch, row.free, row.stock, row.underWay, result)
	}
	return table.Flush()
}
