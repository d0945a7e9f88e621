package devstack

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func startedCluster(ctx context.Context, t *testing.T) *NATSCluster {
	t.Helper()
	cluster, err := StartNATSCluster(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func TestNATSCluster_KeepsAStreamThroughTheLossOfItsLeader(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	cluster := startedCluster(ctx, t)
	conn, err := nats.Connect(cluster.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Leader(ctx, "KEPT"); err == nil {
		t.Fatal("a stream that is not there has a leader")
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	for range writes {
		if _, err := js.Publish(ctx, "kept", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.AwaitStream(ctx, "KEPT"); err != nil {
		t.Fatal(err)
	}
	stepped := leader(ctx, t, cluster)
	if err := cluster.StepDown(ctx, "KEPT"); err != nil {
		t.Fatal(err)
	}
	killed := stepped
	eventually(t, "another leads after the step-down", func() bool {
		killed, err = cluster.Leader(ctx, "KEPT")
		return err == nil && killed != stepped
	})
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another leads after the kill, and has everything", func() bool {
		next, err := cluster.Leader(ctx, "KEPT")
		if err != nil || next == killed {
			return false
		}
		stream, err := js.Stream(ctx, "KEPT")
		return err == nil && stream.CachedInfo().State.Msgs == writes
	})
	if err := killed.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cluster.AwaitReady(ctx), cluster.AwaitStream(ctx, "KEPT")); err != nil {
		t.Fatal(err)
	}
}

func leader(ctx context.Context, t *testing.T, cluster *NATSCluster) *Server {
	t.Helper()
	server, err := cluster.Leader(ctx, "KEPT")
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestNATSCluster_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	cluster, err := StartNATSCluster(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(strings.Split(cluster.URL(), ",")); got != natsServers || len(cluster.Monitors()) != natsServers {
		t.Errorf("%d addresses in %s, monitored at %v", got, cluster.URL(), cluster.Monitors())
	}
	if err := cluster.Servers()[1].Kill(); err != nil { // a dead one is closed as well
		t.Error(err)
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range cluster.nodes {
		if _, err := os.Stat(n.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", n.Dir(), err)
		}
		for _, port := range []*Port{n.port, n.route, n.monitor} {
			if conn, err := net.Dial("tcp", port.Addr()); err == nil {
				t.Errorf("%s still answers", port.Addr())
				_ = conn.Close()
			}
		}
	}
}
