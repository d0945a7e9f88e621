package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"sluice/shared/devstack"
)

func TestMain(m *testing.M) {
	code := devstack.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const patience = 20 * time.Second

// echo answers every line with itself and counts them.
type echo struct {
	listener net.Listener
	lines    atomic.Int64
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	e := &echo{listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go e.answer(conn)
		}
	}()
	return e
}

func (e *echo) answer(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		e.lines.Add(1)
		if _, err := io.WriteString(conn, line); err != nil {
			return
		}
	}
}

func proxied(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Start(target)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

type talker struct {
	t *testing.T
	net.Conn
	reader *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *talker {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &talker{t: t, Conn: conn, reader: bufio.NewReader(conn)}
}

func (k *talker) say(line string) {
	k.t.Helper()
	_, err := io.WriteString(k.Conn, line+"\n")
	must(k.t, err)
}

// hear returns what comes within wait, or the error.
func (k *talker) hear(wait time.Duration) (string, error) {
	must(k.t, k.SetReadDeadline(time.Now().Add(wait)))
	return k.reader.ReadString('\n')
}

func (k *talker) expect(line string) {
	k.t.Helper()
	if got, err := k.hear(patience); err != nil || got != line+"\n" {
		k.t.Fatalf("heard %q, %v; want %q", got, err, line)
	}
}

func TestProxy_HealthyForwardsBothWays(t *testing.T) {
	t.Parallel()
	k := dial(t, proxied(t, startEcho(t).listener.Addr().String()))
	for i := range 100 {
		k.say(fmt.Sprint(i))
		k.expect(fmt.Sprint(i))
	}
}

func TestProxy_CutEndsConnectionsUntilHealed(t *testing.T) {
	t.Parallel()
	p := proxied(t, startEcho(t).listener.Addr().String())
	before := dial(t, p)
	before.say("a")
	before.expect("a")
	p.Cut()
	during := dial(t, p)
	for name, k := range map[string]*talker{"open": before, "new": during} {
		if line, err := k.hear(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the %s connection heard %q, %v while cut", name, line, err)
		}
	}
	p.Heal()
	after := dial(t, p)
	after.say("b")
	after.expect("b")
}

func TestProxy_LosingRepliesStillDeliversRequests(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := proxied(t, server.listener.Addr().String())
	k := dial(t, p)
	p.LoseReplies()
	k.say("a")
	until(t, "the request has arrived and its answer is lost", func() bool { return server.lines.Load() == 1 && p.Lost() == 2 })
	p.Heal()
	if line, err := k.hear(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that lost an answer goes on: %q, %v", line, err)
	}
	again := dial(t, p)
	again.say("b")
	again.expect("b")
}

func TestProxy_FrozenPassesNothingAndLosesNothing(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := proxied(t, server.listener.Addr().String())
	k := dial(t, p)
	k.say("a")
	k.expect("a")
	p.Freeze()
	k.say("b")
	late := dial(t, p) // accepted, and silent
	late.say("c")
	if line, err := k.hear(100 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("heard %q, %v while frozen", line, err)
	}
	if n := server.lines.Load(); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
	p.Heal()
	k.expect("b")
	late.expect("c")
}

func TestProxy_DelayIsOfEachAnswerNotOfTheirSum(t *testing.T) {
	t.Parallel()
	p := proxied(t, startEcho(t).listener.Addr().String())
	k := dial(t, p)
	const delay = 200 * time.Millisecond
	p.Delay(delay)
	started := time.Now()
	for i := range 50 {
		k.say(fmt.Sprint(i))
	}
	for i := range 50 {
		k.expect(fmt.Sprint(i))
	}
	if took := time.Since(started); took < delay || took > 20*delay {
		t.Errorf("50 answers took %v", took)
	}
}

func TestProxy_HoldsWhatSomeClientsSend(t *testing.T) {
	t.Parallel()
	p := proxied(t, startEcho(t).listener.Addr().String())
	ann, bob := dial(t, p), dial(t, p)
	for name, k := range map[string]*talker{"ann": ann, "bob": bob} {
		k.say("I am " + name)
		k.expect("I am " + name)
	}
	p.HoldRequests("am ann")
	ann.say("a")
	bob.say("b")
	bob.expect("b")
	if line, err := ann.hear(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what is held has passed: %q, %v", line, err)
	}
	p.Heal()
	ann.expect("a")
}

func TestProxy_WhatIsHeldArrivesThoughItsSenderHasGone(t *testing.T) {
	t.Parallel()
	server := startEcho(t)
	p := proxied(t, server.listener.Addr().String())
	ann := dial(t, p)
	ann.say("I am ann")
	ann.expect("I am ann")
	const late = 500 * time.Millisecond
	p.Delay(late)
	for i := range int64(2) { // which are answered when nobody is there
		ann.say("to be answered late")
		until(t, "it has arrived", func() bool { return server.lines.Load() == 2+i })
		time.Sleep(late / 5)
	}
	p.HoldRequests("am ann")
	ann.say("held")
	must(t, ann.Close())
	time.Sleep(2 * late)
	if n := server.lines.Load(); n != 3 {
		t.Fatalf("%d lines arrived before the heal", n)
	}
	p.Heal()
	until(t, "what was held arrives", func() bool { return server.lines.Load() == 4 })
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
