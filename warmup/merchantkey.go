package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/shared/auth"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/shared/service"
)

// merchantFlags say which key to make, and where keys are kept.
type merchantFlags struct {
	postgresURL string
	merchant    string
	scopes      string
	timeout     time.Duration
}

func (f *merchantFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.postgresURL, "postgres-url", "", "Postgres `url`")
	fs.StringVar(&f.merchant, "merchant", "", "create: `name` of the merchant, of a-z, 0-9 and -")
	fs.StringVar(&f.scopes, "scopes", "", fmt.Sprintf("create: what the key is good for, of `%v`, separated by commas", sale.Scopes()))
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "of the whole command")
}

// runMerchantKey is `merchant-key create`, `list` and `revoke ID`.
func runMerchantKey(ctx context.Context, in input) error {
	var f merchantFlags
	fs := newFlags(in, "merchant-key", "create|list|revoke ID")
	f.register(fs)
	operands, err := service.ParseOperands(fs, in.args, in.getenv)
	if err != nil {
		return err
	}
	do, err := f.action(operands)
	if err != nil {
		return err
	}
	if f.postgresURL == "" {
		return missing("postgres-url", "say where Postgres is")
	}
	if err := checkTimeout(f.timeout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	store, err := pgstore.Open(ctx, pgstore.Config{URL: f.postgresURL, MaxConns: 1, StatementTimeout: statementTimeout})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.CheckSchema(ctx); err != nil {
		return err
	}
	return do(ctx, in, store)
}

// action is what the operands ask for.
func (f *merchantFlags) action(operands []string) (func(context.Context, input, *pgstore.Store) error, error) {
	switch command := strings.Join(operands, " "); {
	case command == "create":
		if err := sale.ValidateID(f.merchant); err != nil {
			return nil, missing("merchant", "name the merchant with 1 to 64 of a-z, 0-9 and -")
		}
		scopes, err := sale.ParseScopes(f.scopes)
		if err != nil {
			return nil, service.UsageErrorf("-scopes (%s): %v", service.Variable("scopes"), err)
		}
		return func(ctx context.Context, in input, s *pgstore.Store) error {
			return createMerchantKey(ctx, in, s, f.merchant, scopes)
		}, nil
	case command == "list":
		return listMerchantKeys, nil
	case len(operands) == 2 && operands[0] == "revoke":
		return func(ctx context.Context, in input, s *pgstore.Store) error {
			return revokeMerchantKey(ctx, in, s, operands[1])
		}, nil
	default:
		return nil, service.UsageErrorf("say merchant-key create, list, or revoke ID")
	}
}

// byWarmup is who changes merchants' keys, for the audit log.
var byWarmup = sale.Actor{Who: "warmup"}

// createMerchantKey prints the key, alone on stdout: nobody can show it again.
func createMerchantKey(ctx context.Context, in input, s *pgstore.Store, merchant string, scopes []sale.Scope) error {
	shown, kept := auth.NewMerchantKey(merchant, scopes)
	if err := s.CreateMerchantKey(ctx, byWarmup, kept); err != nil {
		return err
	}
	fmt.Fprintf(in.stderr, "key %s of %s, good within a second; it is shown only now\n", kept.ID, merchant)
	_, err := fmt.Fprintln(in.stdout, shown)
	return err
}

func listMerchantKeys(ctx context.Context, in input, s *pgstore.Store) error {
	keys, err := s.MerchantKeys(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tMERCHANT\tCREATED\tREVOKED\tSCOPES")
	for _, k := range keys {
		revoked := "-"
		if !k.RevokedAt.IsZero() {
			revoked = k.RevokedAt.Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%v\n", k.ID, k.Merchant, k.CreatedAt.Format(time.RFC3339), revoked, k.Scopes)
	}
	return table.Flush()
}

// revokeMerchantKey takes a key, or its id.
func revokeMerchantKey(ctx context.Context, in input, s *pgstore.Store, id string) error {
	if key, err := auth.ParseMerchantKey(id); err == nil {
		id = key.ID
	}
	revoked, err := s.RevokeMerchantKey(ctx, byWarmup, id)
	if errors.Is(err, pgstore.ErrNoMerchantKey) {
		return fmt.Errorf("there is no merchant key %.16s: merchant-key list shows them", id)
	}
	if err != nil {
		return err
	}
	words := "is refused within a second"
	if !revoked {
		words = "was revoked before"
	}
	_, err = fmt.Fprintf(in.stdout, "key %s %s\n", id, words)
	return err
}
