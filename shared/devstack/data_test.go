package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// note keeps a number in a server, or reads it back; 0 when there is none.
type note struct {
	start func(context.Context, Options) (*Server, error)
	write func(ctx context.Context, url string, n int) error
	read  func(ctx context.Context, url string) (int, error)
}

func notes() map[string]note {
	return map[string]note{
		"redis": {StartRedis, func(ctx context.Context, url string, n int) error {
			return withRedis(url, func(c *redis.Client) error { return c.Set(ctx, "note", n, 0).Err() })
		}, func(ctx context.Context, url string) (n int, err error) {
			err = withRedis(url, func(c *redis.Client) error {
				n, err = c.Get(ctx, "note").Int()
				if errors.Is(err, redis.Nil) {
					return nil
				}
				return err
			})
			return n, err
		}},
		"nats": {StartNATS, func(ctx context.Context, url string, n int) error {
			return withJetStream(url, func(js jetstream.JetStream) error {
				_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "NOTES", Subjects: []string{"notes"}})
				for range n {
					if err == nil {
						_, err = js.Publish(ctx, "notes", nil)
					}
				}
				return err
			})
		}, func(ctx context.Context, url string) (n int, err error) {
			err = withJetStream(url, func(js jetstream.JetStream) error {
				stream, err := js.Stream(ctx, "NOTES")
				if errors.Is(err, jetstream.ErrStreamNotFound) {
					return nil
				}
				if err == nil {
					n = int(stream.CachedInfo().State.Msgs)
				}
				return err
			})
			return n, err
		}},
		"postgres": {StartPostgres, func(ctx context.Context, url string, n int) error {
			return withPostgres(ctx, url, func(c *pgx.Conn) error {
				_, err := c.Exec(ctx, "CREATE TABLE IF NOT EXISTS notes (n int)")
				if err == nil {
					_, err = c.Exec(ctx, "INSERT INTO notes VALUES ($1)", n)
				}
				return err
			})
		}, func(ctx context.Context, url string) (n int, err error) {
			err = withPostgres(ctx, url, func(c *pgx.Conn) error {
				return c.QueryRow(ctx, "SELECT sum(n) FROM notes").Scan(&n)
			})
			return n, err
		}},
	}
}

func withRedis(url string, do func(*redis.Client) error) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(options)
	defer client.Close()
	return do(client)
}

func withJetStream(url string, do func(jetstream.JetStream) error) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return do(js)
}

func withPostgres(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(conn)
}

func TestServers_ComeBackWithAnOlderCopyOfTheirData(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	for name, n := range notes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := started(ctx, t, n.start)
			older := filepath.Join(t.TempDir(), "older")
			step := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			holds := func(want int) {
				t.Helper()
				if got, err := n.read(ctx, server.URL()); err != nil || got != want {
					t.Fatalf("it holds %d, %v; want %d", got, err, want)
				}
			}
			step("write", n.write(ctx, server.URL(), 1))
			if err := server.CopyData(older); err == nil {
				t.Fatal("the data of a running server was copied")
			}
			step("stop", server.Stop())
			step("copy", server.CopyData(older))
			step("start", server.Restart(ctx))
			step("write more", n.write(ctx, server.URL(), 1))
			if name != "redis" { // there the second note replaces the first
				holds(2)
			}
			for range 2 { // the copy stays as it is
				step("stop", server.Stop())
				step("put back", server.PutData(older))
				step("start", server.Restart(ctx))
				holds(1)
				step("write more", n.write(ctx, server.URL(), 1))
			}
			if name == "postgres" {
				return
			}
			step("stop", server.Stop())
			step("wipe", server.WipeData())
			step("start", server.Restart(ctx))
			holds(0)
		})
	}
}

func TestDisk_PowerLossTakesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	for name, tc := range map[string]struct {
		sync string
		kept func(n int) bool
	}{
		"synced always: nothing acknowledged is lost": {"", func(n int) bool { return n == writes }},
		"synced every two minutes: the control loses": {"2m", func(n int) bool { return n < writes }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk, err := MountDisk(t.TempDir(), 256)
			if errors.Is(err, ErrNoDisk) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := disk.Close(); err != nil {
					t.Error(err)
				}
			})
			server, err := StartNATS(ctx, Options{Dir: disk.Dir(), NATSSync: tc.sync})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Close(); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			})
			if err := disk.Sync(); err != nil { // its configuration
				t.Fatal(err)
			}
			nats := notes()["nats"]
			if err := nats.write(ctx, server.URL(), writes); err != nil {
				t.Fatal(err)
			}
			if err := disk.LosePower(server.Kill); err != nil {
				t.Fatal(err)
			}
			if err := server.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			if n, err := nats.read(ctx, server.URL()); err != nil || !tc.kept(n) {
				t.Errorf("%d of %d acknowledged messages are there: %v", n, writes, err)
			}
		})
	}
}
