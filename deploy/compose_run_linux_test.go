package deploy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const saleID = "phone-1111" // of docs/sales.yaml

// docker-compose.yml, run: jobs end well, every health check passes, a buyer buys through
// the proxy, each client is limited by its own address, and a gateway and a worker that are
// stopped under load lose nobody's request.
func TestCompose_RunsAsItIsWritten(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.up("proxy")
	proxy := "http://" + e.addresses["proxy"]
	e.wantOK(proxy + ":8404/healthz")
	for _, name := range []string{"gateway-1", "gateway-2", "worker-1", "worker-2"} {
		e.healthy(name)
	}
	for path := range probePaths(t) {
		e.wantOK("http://" + e.addresses["gateway-1"] + ":9080" + path)
		e.wantOK("http://" + e.addresses["worker-1"] + ":9081" + path)
	}
	e.buys(proxy + ":8080")
	e.runKubernetesJob()
	e.limitsByAddress(proxy + ":8080")
	e.drains(proxy + ":8080")
}

// token is what the shop of the environment gives a buyer.
func (e *engine) token(user string) string {
	env := e.project.Services["gateway-1"].Environment
	key, err := auth.Secret([]byte(*env["SLUICE_JWT_HS256"]))
	e.must(err)
	token, err := key.Token(*env["SLUICE_JWT_ISSUER"], *env["SLUICE_JWT_AUDIENCE"], user, sale.Claims{}, time.Now(), time.Hour)
	e.must(err)
	return token
}

// buys has a buyer buy, and read the order from a worker by the same address.
func (e *engine) buys(base string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 30*time.Second)
	defer cancel()
	token := e.token("ada")
	buyer, err := client.New(client.Config{BaseURLs: []string{base}, Token: token})
	e.must(err)
	defer buyer.Close()
	ticket, err := buyer.Buy(ctx, saleID, "")
	e.must(err)
	ticket, err = buyer.Await(ctx, ticket)
	e.must(err)
	c := newCaller(e, "")
	if status, answer := c.call(http.MethodGet, base+"/v1/orders", token, nil); status != http.StatusOK || !strings.Contains(answer, ticket.OrderID) || ticket.OrderID == "" {
		e.t.Errorf("ticket %+v; orders: %d %s", ticket, status, answer)
	}
}

// caller calls from an address of its own.
type caller struct {
	e    *engine
	http *http.Client
}

func newCaller(e *engine, address string) caller {
	dialer := &net.Dialer{}
	if address != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address)}
	}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	e.t.Cleanup(transport.CloseIdleConnections)
	return caller{e, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// call returns status 0 and the error when there is no answer.
func (c caller) call(method, url, token string, header http.Header) (status int, answer string) {
	request, err := http.NewRequestWithContext(c.e.t.Context(), method, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// limitsByAddress floods from one address, under as many invented ones as there are
// attempts: it is refused, and somebody at another address is not.
func (e *engine) limitsByAddress(base string) {
	e.t.Helper()
	const most = 20_000
	flooder, other := newCaller(e, "127.0.0.2"), newCaller(e, "127.0.0.3")
	var sent, refused atomic.Int64
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			for refused.Load() == 0 {
				n := sent.Add(1)
				if n > most {
					return
				}
				invented := http.Header{"X-Forwarded-For": {fmt.Sprintf("203.0.%d.%d", n/250%250, n%250)}}
				switch status, answer := flooder.call(http.MethodPost, base+"/v1/sales/"+saleID+"/orders", "", invented); status {
				case http.StatusUnauthorized:
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					e.t.Errorf("flooder: %d %s", status, answer)
					return
				}
			}
		})
	}
	wait.Wait()
	if refused.Load() == 0 {
		e.t.Errorf("none of %d attempts of one address was refused: invented addresses are believed", sent.Load())
	}
	if status, answer := other.call(http.MethodPost, base+"/v1/sales/"+saleID+"/orders", "", nil); status != http.StatusUnauthorized {
		e.t.Errorf("another address is answered %d %s: the proxy's clients are taken for one", status, answer)
	}
}

// drains stops a gateway, by Ctrl-C, and a worker, by SIGTERM, while buyers attempt and
// read their orders: both end well and in time, and every call is answered.
func (e *engine) drains(base string) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	defer cancel()
	var calls atomic.Int64
	var wait sync.WaitGroup
	for i := range 4 {
		c := newCaller(e, fmt.Sprintf("127.0.0.%d", 10+i))
		wait.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				token := e.token(fmt.Sprintf("buyer-%d-%d", i, n))
				if status, answer := c.call(http.MethodPost, base+"/v1/sales/"+saleID+"/orders", token, nil); status != http.StatusAccepted && status != http.StatusConflict {
					e.t.Errorf("attempt: %d %s", status, answer)
				}
				if status, answer := c.call(http.MethodGet, base+"/v1/orders", token, nil); status != http.StatusOK {
					e.t.Errorf("orders: %d %s", status, answer)
				}
				calls.Add(1)
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	e.untilCalls(&calls, 20)
	before := time.Now()
	var stops sync.WaitGroup
	for name, sig := range map[string]syscall.Signal{"gateway-1": syscall.SIGINT, "worker-1": syscall.SIGTERM} {
		stops.Go(func() {
			grace := time.Duration(*e.project.Services[name].StopGracePeriod)
			if err := e.processes[name].Stop(sig, grace); err != nil || e.processes[name].Status() != "exit status 0" {
				e.t.Errorf("%s: %v, %s", name, err, e.processes[name].Status())
			}
		})
	}
	e.wantOutOfRouting(map[string]string{"gateway-1": "gateways", "worker-1": "workers"}, before)
	stops.Wait()
	e.untilCalls(&calls, calls.Load()+20)
	cancel()
	wait.Wait()
}

// wantOutOfRouting wants the proxy to have found out, by the health check, that servers are
// unready, before their drain is over.
func (e *engine) wantOutOfRouting(servers map[string]string, since time.Time) {
	e.t.Helper()
	status := newCaller(e, "")
	for server, backend := range servers {
		drain, err := time.ParseDuration(*e.project.Services[server].Environment["SLUICE_DRAIN"])
		e.must(err)
		down := fmt.Sprintf("haproxy_server_status{proxy=%q,server=%q,state=\"DOWN\"} 1", backend, server)
		for {
			_, metrics := status.call(http.MethodGet, "http://"+e.addresses["proxy"]+":8404/metrics", "", nil)
			if strings.Contains(metrics, down) {
				break
			}
			if time.Since(since) > drain {
				e.t.Errorf("the proxy still sends buyers to %s, %s after it said that it is unready", server, drain)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (e *engine) untilCalls(calls *atomic.Int64, n int64) {
	e.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for calls.Load() < n {
		if time.Now().After(deadline) {
			e.t.Fatalf("%d calls, want %d", calls.Load(), n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
