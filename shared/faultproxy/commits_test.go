package faultproxy

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/shared/devstack"
)

// session is a connection to Postgres through a proxy.
type session struct {
	t    *testing.T
	conn *pgx.Conn
}

func connect(t *testing.T, url string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	must(t, err)
	return &session{t: t, conn: conn}
}

func (s *session) close() { must(s.t, s.conn.Close(context.WithoutCancel(s.t.Context()))) }

// commit commits n transactions the ways that pgx can, and returns how long that took.
func (s *session) commit(n int) time.Duration {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	started := time.Now()
	for i := range n {
		if i%2 == 0 {
			must(s.t, pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT 1")
				return err
			}))
			continue
		}
		var b pgx.Batch
		for _, sql := range []string{"begin", "SELECT 1", "commit"} { // parsed once, executed every time, in one pipeline
			b.Queue(sql)
		}
		must(s.t, s.conn.SendBatch(ctx, &b).Close())
	}
	return time.Since(started)
}

func proxiedPostgres(t *testing.T) (*Proxy, string) {
	t.Helper()
	p, url, err := StartFor(devstack.PostgresForTest(t).URL())
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p, url
}

func TestProxy_CommitsArePaced(t *testing.T) {
	t.Parallel()
	p, url := proxiedPostgres(t)
	s := connect(t, url)
	defer s.close()
	p.LimitCommits(20)
	if took := s.commit(11); took < 450*time.Millisecond { // the first one is free
		t.Errorf("11 commits at 20 a second took %v", took)
	}
	p.LimitCommits(0)
	s.commit(200) // at one a second, patience would not do
	p.LimitCommits(1)
	p.Heal()
	s.commit(200)
}

func TestProxy_CommitsAreDelayedEachByItself(t *testing.T) {
	t.Parallel()
	p, url := proxiedPostgres(t)
	const connections, delay = 10, 300 * time.Millisecond
	p.DelayCommits(delay)
	started := time.Now()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			s := connect(t, url)
			defer s.close()
			if took := s.commit(2); took < 2*delay {
				t.Errorf("two commits took %v", took)
			}
		})
	}
	all.Wait()
	if took := time.Since(started); took > connections*delay {
		t.Errorf("as long as one after the other: %v", took)
	}
}

// message is one as a client of Postgres sends it.
func message(kind byte, body string) []byte {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}

func startup(version uint32, body string) []byte {
	m := binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))
	return append(binary.BigEndian.AppendUint32(m, version), body...)
}

func TestCommitScanner_FindsThemInAnyPieces(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, 3*bodyKept))
	var wire []byte
	var want []int
	say := func(m []byte) { wire = append(wire, m...) }
	commit := func(m []byte) {
		want = append(want, len(wire))
		say(m)
	}
	say(startup(80877103, ""))
	say(startup(3<<16, "user\x00ann\x00\x00"))
	say(message('p', "password\x00"))
	say(message('Q', "begin\x00"))
	commit(message('Q', "commit\x00"))
	commit(message('Q', "UPDATE t SET a = 1; COMMIT;\x00"))
	say(message('Q', "SELECT 'commit'\x00"))
	say(message('P', "c\x00commit\x00\x00\x00"))
	say(message('P', "s\x00SELECT $1\x00\x00\x00"))
	say(message('B', "\x00s\x00"+long))
	say(message('E', "\x00\x00\x00\x00\x00"))
	say(message('B', "\x00c\x00\x00\x00\x00\x00\x00\x00"))
	commit(message('E', "\x00\x00\x00\x00\x00"))
	say(message('S', ""))
	commit(message('Q', "commit\x00"))
	for size := 1; size <= len(wire); size++ {
		var s commitScanner
		var found []int
		for at := 0; at < len(wire); at += size {
			for _, i := range s.commits(wire[at:min(at+size, len(wire))]) {
				found = append(found, at+i)
			}
		}
		if !slices.EqualFunc(found, want, within) {
			t.Fatalf("in pieces of %d: commits at %v, want %v", size, found, want)
		}
	}
	var s commitScanner
	if found := s.commits(wire); !slices.Equal(found, want) {
		t.Errorf("in one piece: commits at %v, want %v", found, want)
	}
}

func TestCommitScanner_FindsNoneInOtherProtocols(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		"*2\r\n$3\r\nGET\r\n$6\r\ncommit\r\n", "CONNECT {}\r\nPUB a 6\r\ncommit\r\n", "Q\x00\x00\x00\x0bcommit\x00",
		string(startup(3<<16, "")) + "Q\x00\x00\x00\x00commit\x00", string(startup(3<<16, "")) + "Q\xff\xff\xff\xffcommit\x00",
	} {
		var s commitScanner
		if found := s.commits([]byte(wire)); found != nil {
			t.Errorf("%q: %v", wire, found)
		}
	}
}

// within reports whether a commit is held up before it is complete: at its begin, or
// at that of the piece that completes it.
func within(held, begins int) bool { return held >= begins && held < begins+longestCommit }

const longestCommit = len("Q....UPDATE t SET a = 1; COMMIT;.")
