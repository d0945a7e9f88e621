package devstack

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

const writes = 200

func needsServers(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, and -short is set")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// killAndRestart checks that the restart keeps the address.
func killAndRestart(ctx context.Context, t *testing.T, server *Server) {
	t.Helper()
	url, pid := server.URL(), server.PID()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	<-server.Exited()
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if server.URL() != url || server.PID() == pid {
		t.Fatalf("restarted as %s pid %d, was %s pid %d", server.URL(), server.PID(), url, pid)
	}
}

func started(ctx context.Context, t *testing.T, start func(context.Context, Options) (*Server, error)) *Server {
	t.Helper()
	server, err := start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestRedis_KilledKeepsWhatTheLogHolds(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	server := started(ctx, t, StartRedis)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	for i := range writes {
		if err := client.Set(ctx, fmt.Sprint("key", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	// Everysec promises what was written to the file, which may lag the answer.
	eventually(t, "append only file written", func() bool {
		info := client.Info(ctx, "persistence").Val()
		return strings.Contains(info, "aof_buffer_length:0\r") && strings.Contains(info, "aof_pending_bio_fsync:0\r")
	})

	killAndRestart(ctx, t, server)

	if n := client.DBSize(ctx).Val(); n != writes {
		t.Fatalf("%d keys after the restart, want %d", n, writes)
	}
	if policy := client.ConfigGet(ctx, "maxmemory-policy").Val()["maxmemory-policy"]; policy != "noeviction" {
		t.Fatalf("eviction policy %q", policy)
	}
}

func TestNATS_KilledKeepsAcknowledgedMessages(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	server := started(ctx, t, StartNATS)
	conn, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.*"}}); err != nil {
		t.Fatal(err)
	}
	for i := range writes {
		if _, err := js.Publish(ctx, fmt.Sprint("kept.", i), []byte("message")); err != nil {
			t.Fatal(err)
		}
	}

	killAndRestart(ctx, t, server)

	eventually(t, "client reconnected", conn.IsConnected)
	stream, err := js.Stream(ctx, "KEPT")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != writes {
		t.Fatalf("%d messages after the restart, want %d", n, writes)
	}
}

func TestPostgres_KilledKeepsCommittedRows(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	server := started(ctx, t, StartPostgres)
	query := func(sql string, into ...any) {
		t.Helper()
		conn, err := pgx.Connect(ctx, server.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if len(into) == 0 {
			_, err = conn.Exec(ctx, sql)
		} else {
			err = conn.QueryRow(ctx, sql).Scan(into...)
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	query("CREATE TABLE kept AS SELECT generate_series(1, 200) AS id")

	killAndRestart(ctx, t, server)

	var rows int
	var fsync, commit, encoding, collate string
	query("SELECT count(*) FROM kept", &rows)
	query("SELECT current_setting('fsync'), current_setting('synchronous_commit')", &fsync, &commit)
	query("SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database WHERE datname = current_database()", &encoding, &collate)
	if rows != writes || fsync != "on" || commit != "on" || encoding != "UTF8" || collate != "C.UTF-8" {
		t.Fatalf("rows %d, fsync %s, synchronous_commit %s, %s, %s", rows, fsync, commit, encoding, collate)
	}
}

func TestServers_StoppedGracefullyRestartWithTheirData(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	for name, start := range map[string]func(context.Context, Options) (*Server, error){
		"redis": StartRedis, "nats": StartNATS, "postgres": StartPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := started(ctx, t, start)
			if err := server.Restart(ctx); err == nil {
				t.Fatal("a running server was restarted")
			}
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := server.Restart(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}
