package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/shared/service"
)

// startGateway answers probes as a gateway does.
func startGateway(t *testing.T, saleReady func(string) error) (url string, health *service.Health, redis *service.Phase) {
	t.Helper()
	health = service.NewHealth(time.Now)
	health.Phase("config").Done()
	redis = health.Phase("redis")
	health.SaleReady = saleReady
	ops, err := service.NewOps("127.0.0.1:0", health, service.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- ops.Serve() }()
	t.Cleanup(func() {
		if err := errors.Join(ops.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return "http://" + ops.Addr(), health, redis
}

func onlyPhone(id string) error {
	if id != "phone" {
		return errors.New("sale is not in the catalogue")
	}
	return nil
}

func TestWait_ReturnsOnceAllAreReady(t *testing.T) {
	t.Parallel()
	b := &bench{t: t}
	first, _, warmFirst := startGateway(t, onlyPhone)
	second, _, warmSecond := startGateway(t, onlyPhone)
	warmFirst.Done()
	ended := make(chan error, 1)
	go func() {
		_, err := b.try("wait", "-gateways", first+","+second+"/", "-sales", "phone", "-timeout", "30s")
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("ended before the second gateway was ready: %v", err)
	case <-time.After(3 * waitPause):
	}
	warmSecond.Done()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWait_SaysWhichIsNotReadyAndWhy(t *testing.T) {
	t.Parallel()
	b := &bench{t: t}
	ready, _, warmed := startGateway(t, onlyPhone)
	warmed.Done()
	cold, _, phase := startGateway(t, onlyPhone)
	phase.Fail(errors.New("connection refused"))
	drained, health, _ := startGateway(t, nil)
	health.Drain()
	held, heldHealth, warm := startGateway(t, nil)
	warm.Done()
	heldHealth.Hold("its disk is being replaced")
	for args, want := range map[string]string{
		ready + "," + cold:             cold + "/readyz?verbose answers 503 warming (redis failing for",
		cold:                           "connection refused",
		held:                           held + "/readyz?verbose answers 503 held (its disk is being replaced)",
		drained:                        drained + "/readyz?verbose answers 503 draining",
		"http://127.0.0.1:1":           "http://127.0.0.1:1/readyz?verbose does not answer",
		ready + " -sales phone,tablet": ready + "/readyz/sales/tablet answers 503 not_ready (sale is not in the catalogue)",
		drained + " -sales phone":      drained + "/readyz/sales/phone answers 404",
		ready + "/metrics":             "answers 404 with no status",
	} {
		_, err := b.try(append([]string{"wait", "-timeout", "300ms", "-gateways"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "not ready after 300ms: ") {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
		if err != nil && strings.Contains(err.Error(), ready+"/readyz?verbose") {
			t.Errorf("%s: the ready gateway is named: %v", args, err)
		}
	}
}

func TestWait_RefusesBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"", "-gateways 127.0.0.1:9080", "-gateways ftp://x", "-gateways http://", "-gateways http://x,", "-gateways http://x -sales Phone",
		"-gateways http://x -timeout 0s", "-gateways http://x phone",
	} {
		if _, err := (&bench{t: t}).try(append([]string{"wait"}, strings.Fields(args)...)...); !errors.Is(err, service.ErrUsage) {
			t.Errorf("wait %s: error %v, want a usage error", args, err)
		}
	}
}
