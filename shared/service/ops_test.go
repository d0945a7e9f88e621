package service_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/shared/service"
)

// opsServer is an ops listener on real TCP that the test stops.
type opsServer struct {
	t      *testing.T
	health *service.Health
	ops    *service.Ops
}

func startOps(t *testing.T, configure func(*service.Health, *service.Ops)) *opsServer {
	t.Helper()
	health := service.NewHealth(time.Now)
	ops, err := service.NewOps("127.0.0.1:0", health, service.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if configure != nil {
		configure(health, ops)
	}
	served := make(chan error, 1)
	go func() { served <- ops.Serve() }()
	t.Cleanup(func() {
		if err := ops.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &opsServer{t, health, ops}
}

func (s *opsServer) get(path, token string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.ops.Addr()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (s *opsServer) expect(path string, code int, parts ...string) {
	s.t.Helper()
	got, body := s.get(path, "")
	if got != code {
		s.t.Errorf("%s answers %d, want %d: %s", path, got, code, body)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			s.t.Errorf("%s answers %s, want it to have %s", path, body, part)
		}
	}
}

func TestOps_ProbesFollowTheProcessLife(t *testing.T) {
	t.Parallel()
	var redis *service.Phase
	s := startOps(t, func(h *service.Health, _ *service.Ops) {
		redis = h.Phase("redis")
		h.Phase("catalogue").Done()
	})
	redis.Fail(errors.New("connection refused"))
	s.expect("/livez", 200, `"alive"`)
	s.expect("/startupz", 503, `{"status":"warming"}`)
	s.expect("/readyz", 503, `{"status":"warming"}`)
	redis.Done()
	s.expect("/startupz", 200, `{"status":"ready"}`)
	s.expect("/readyz", 200, `{"status":"ready"}`)
	s.health.Drain()
	s.expect("/livez", 200)
	s.expect("/startupz", 200)
	s.expect("/readyz", 503, `{"status":"draining"}`)
}

func TestOps_VerboseListsEachPhase(t *testing.T) {
	t.Parallel()
	s := startOps(t, func(h *service.Health, _ *service.Ops) {
		h.Phase("config").Done()
		h.Phase("redis").Fail(errors.New("connection refused"))
	})
	code, body := s.get("/readyz?verbose", "")
	var got struct {
		Status string
		Phases []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if code != 503 || got.Status != "warming" || len(got.Phases) != 2 {
		t.Fatalf("answers %d %s", code, body)
	}
	if p := got.Phases[1]; p["name"] != "redis" || p["state"] != "failing" || p["last_error"] != "connection refused" {
		t.Errorf("phase is %v", p)
	}
	for _, p := range got.Phases {
		if age, ok := p["age_seconds"].(float64); !ok || age < 0 {
			t.Errorf("phase %v has no age", p)
		}
	}
}

func TestOps_VerboseLivenessSaysWhichVersionLives(t *testing.T) {
	t.Parallel()
	s := startOps(t, nil)
	_, body := s.get("/livez?verbose", "")
	var got struct {
		Status string
		Build  service.Version
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "alive" || got.Build != service.ReadVersion() {
		t.Errorf("answers %s, want the build %+v", body, service.ReadVersion())
	}
	s.expect("/livez", 200, `{"status":"alive"}`)
	s.expect("/metrics", 200, "sluice_build_info{", `version="`+got.Build.Version+`"`, `go="`+got.Build.Go+`"`)
}

func TestOps_SaleGateAsksTheHookOnceTheProcessIsReady(t *testing.T) {
	t.Parallel()
	var catalogue *service.Phase
	s := startOps(t, func(h *service.Health, _ *service.Ops) {
		catalogue = h.Phase("catalogue")
		h.SaleReady = func(saleID string) error {
			if saleID == "phone" {
				return nil
			}
			return errors.New("not in the catalogue")
		}
	})
	s.expect("/readyz/sales/phone", 503, `"status":"warming"`)
	catalogue.Done()
	s.expect("/readyz/sales/phone", 200, `"status":"ready"`, `"sale":"phone"`)
	s.expect("/readyz/sales/tablet", 503, `"status":"not_ready"`, `"reason":"not in the catalogue"`)
	s.expect("/readyz/sales/PHONE", 404, `"reason"`)
	s.health.Drain()
	s.expect("/readyz/sales/phone", 503, `"status":"draining"`)
}

func TestOps_WithoutSalesTheGateIsNotThere(t *testing.T) {
	t.Parallel()
	startOps(t, nil).expect("/readyz/sales/phone", 404, "serves no sales")
}

func TestOps_MetricsAndProfiles(t *testing.T) {
	t.Parallel()
	s := startOps(t, nil)
	s.expect("/metrics", 200, "go_goroutines", "process_open_fds")
	s.expect("/debug/pprof/", 200, "goroutine")
	s.expect("/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	s.expect("/debug/pprof/cmdline", 404)
	s.expect("/", 404)
}

func TestOps_GuardedProfilesNeedTheToken(t *testing.T) {
	t.Parallel()
	s := startOps(t, func(_ *service.Health, o *service.Ops) { o.GuardProfiles("secret") })
	for token, want := range map[string]int{
		"": 401, "Bearer ": 401, "Bearer secre": 401, "Basic secret": 401, "secret": 401, "Bearer secret": 200, "bearer secret": 200,
	} {
		if code, body := s.get("/debug/pprof/", token); code != want {
			t.Errorf("Authorization %q answers %d, want %d: %s", token, code, want, body)
		}
	}
	s.expect("/metrics", 200)
}

func TestRequireBearer_EmptyTokenLetsNobodyIn(t *testing.T) {
	t.Parallel()
	s := startOps(t, func(_ *service.Health, o *service.Ops) {
		ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		o.Handle("GET /admin/v1/sales", service.RequireBearer("", ok))
		o.Handle("GET /extra", ok)
	})
	s.expect("/admin/v1/sales", 401)
	s.expect("/extra", 200)
	if code, _ := s.get("/admin/v1/sales", "Bearer "); code != 401 {
		t.Errorf("an empty token answers %d", code)
	}
}

func TestNewOps_TakenAddressIsAnErrorAtStart(t *testing.T) {
	t.Parallel()
	s := startOps(t, nil)
	_, err := service.NewOps(s.ops.Addr(), service.NewHealth(time.Now), service.NewRegistry())
	if err == nil || !strings.Contains(err.Error(), s.ops.Addr()) {
		t.Errorf("error %v, want one that names the address", err)
	}
}

func TestOps_CloseCutsWhoStays(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	health := service.NewHealth(time.Now)
	ops, err := service.NewOps("127.0.0.1:0", health, service.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ops.Handle("GET /stay", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	}))
	served := make(chan error, 1)
	go func() { served <- ops.Serve() }()
	conn, err := net.Dial("tcp", ops.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /stay HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := ops.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); isTimeout(err) {
		t.Errorf("the connection outlives Close: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
