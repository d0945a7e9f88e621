package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/stack"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// programs is the directory with the programs under test.
func programs(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts whole stacks")
	}
	bin := os.Getenv("SLUICE_BIN")
	if bin == "" {
		t.Fatal("SLUICE_BIN is not set: run 'make test', or 'make build' and set it to bin")
	}
	return bin
}

// scene is a stack with one open sale and a crowd of buyers with tokens.
type scene struct {
	t      *testing.T
	dir    string
	saleID string
	stack  *stack.Stack
	stores *collect.Stores
	tokens []string
}

// openScene starts a stack and opens a sale of total units on it.
func openScene(ctx context.Context, t *testing.T, total, buyers int, config stack.Config) *scene {
	t.Helper()
	return openSale(ctx, t, total, "15m", buyers, config)
}

// openSale is openScene with the time to pay.
func openSale(ctx context.Context, t *testing.T, total int, hold string, buyers int, config stack.Config) *scene {
	t.Helper()
	return openFile(ctx, t, fmt.Sprintf("sales:\n  - {id: phone, total: %d, price: 100, hold: %s, opens_at: %s, closes_at: %s}\n",
		total, hold, inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(time.Hour))), buyers, config)
}

// openFile starts a stack and opens the sales of a sales file on it.
func openFile(ctx context.Context, t *testing.T, text string, buyers int, config stack.Config) *scene {
	t.Helper()
	s := &scene{t: t, dir: t.TempDir(), saleID: "phone", tokens: make([]string, buyers)}
	sales := filepath.Join(s.dir, "sales.yaml")
	s.must(os.WriteFile(sales, []byte(text), 0o600))
	config.SalesFile, config.OutDir, config.BinDir, config.Log = sales, s.dir, programs(t), slog.New(slog.DiscardHandler)
	var err error
	s.stack, err = stack.Start(ctx, config)
	s.must(err)
	t.Cleanup(func() {
		if err := s.stack.Close(); err != nil {
			t.Error(err)
		}
	})
	s.stores, err = collect.Open(ctx, storeURLs(s.stack.Info()), slog.New(slog.DiscardHandler))
	s.must(err)
	t.Cleanup(func() { _ = s.stores.Close() })
	secrets := s.stack.Info().Secrets
	for i := range s.tokens {
		s.tokens[i], err = auth.Mint([]byte(secrets.JWTHS256), secrets.JWTIssuer, secrets.JWTAudience, buyerID(i), sale.Claims{}, time.Now(), time.Hour)
		s.must(err)
	}
	return s
}

func buyerID(i int) string { return fmt.Sprintf("buyer-%d", i) }

func (s *scene) gateway(i int) string {
	gateways := s.stack.Info().Gateways
	return gateways[i%len(gateways)].URL
}

func (s *scene) orders(i int) string { return s.gateway(i) + "/v1/sales/" + s.saleID + "/orders" }

// logged reports whether the process's log has the text.
func (s *scene) logged(process, text string) bool {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "logs", process+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Contains(string(content), text)
}

// rest waits until the sale is at rest and fails on any violation.
func (s *scene) rest(ctx context.Context, seen []sale.Seen, patience time.Duration) sale.Evidence {
	s.t.Helper()
	e, verdict, err := s.stores.Audit(ctx, s.saleID, seen, patience)
	s.must(err)
	if !verdict.Pass || !verdict.AtRest {
		s.t.Errorf("at rest %v, violations %v", verdict.AtRest, verdict.Violations)
	}
	return e
}

// even has the stores reconciled, and wants nothing found that needs a person.
func (s *scene) even(ctx context.Context) {
	s.t.Helper()
	var answer struct {
		Runs  []sale.ReconciliationRun `json:"runs"`
		Sales []sale.Reconciliation    `json:"sales"`
	}
	info := s.stack.Info()
	status, text := s.send(ctx, http.MethodPost, info.Workers[0].AdminURL+"/admin/v1/reconciliations", info.Secrets.AdminToken, "")
	if status != http.StatusOK {
		s.t.Fatalf("reconciliations: %d %s", status, text)
	}
	s.must(json.Unmarshal([]byte(text), &answer))
	if len(answer.Runs) == 0 || answer.Runs[0].Deviations != 0 || len(answer.Sales) == 0 {
		s.t.Errorf("reconciled: %+v", answer)
	}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
