package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sluice/lua"

	"github.com/redis/go-redis/v9"
)

// wiretap passes on what one client says to a store, and keeps it.
type wiretap struct {
	url      string
	listener net.Listener
	target   string
	owned    sync.WaitGroup

	mu    sync.Mutex
	lines []*bytes.Buffer // what was said, by connection
	conns []net.Conn
}

func tap(t *testing.T, storeURL string) *wiretap {
	t.Helper()
	u, err := url.Parse(storeURL)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &wiretap{listener: listener, target: u.Host}
	u.Host = listener.Addr().String()
	w.url = u.String()
	w.owned.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

func (w *wiretap) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.owned.Wait()
}

func (w *wiretap) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		store, err := net.Dial("tcp", w.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		line := &bytes.Buffer{}
		w.lines, w.conns = append(w.lines, line), append(w.conns, client, store)
		w.mu.Unlock()
		w.owned.Go(func() { w.pass(store, io.TeeReader(client, keeper{w, line}), client) })
		w.owned.Go(func() { w.pass(client, store, store) })
	}
}

func (w *wiretap) pass(to net.Conn, from io.Reader, source net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = source.Close()
}

type keeper struct {
	*wiretap
	line *bytes.Buffer
}

func (k keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.line.Write(p)
}

// heard counts what was said so far, by name.
func (w *wiretap) heard(read func(*bufio.Reader) (string, error)) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, line := range w.lines {
		r := bufio.NewReader(bytes.NewReader(line.Bytes()))
		for {
			name, err := read(r)
			if err != nil { // the end, or a call that is still being said
				break
			}
			counts[name]++
		}
	}
	return counts
}

// redisCall reads one command. A script is named as it is here.
func redisCall(r *bufio.Reader) (string, error) {
	n, err := lengthAfter(r, '*')
	if err != nil {
		return "", err
	}
	words := make([]string, n)
	for i := range words {
		size, err := lengthAfter(r, '$')
		if err != nil {
			return "", err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return "", err
		}
		words[i] = string(text[:size])
	}
	name := strings.ToLower(words[0])
	switch name {
	case "evalsha", "eval":
		for _, s := range lua.All() {
			if redis.NewScript(s.Source).Hash() == words[1] {
				return name + " " + s.Name, nil
			}
		}
	case "script", "client":
		return name + " " + strings.ToLower(words[1]), nil
	}
	return name, nil
}

func lengthAfter(r *bufio.Reader, mark byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != mark {
		return 0, fmt.Errorf("%q does not begin with %q", line, mark)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// natsCall reads one operation. A publication is named by its subject, of which names
// that are made up are left out.
func natsCall(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return "nothing", nil
	}
	if op := words[0]; op != "PUB" && op != "HPUB" {
		return strings.ToLower(op), nil
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return "", err
	}
	if _, err := r.Discard(size + 2); err != nil {
		return "", err
	}
	subject := strings.Split(words[1], ".")
	return strings.Join(subject[:min(5, len(subject))], "."), nil
}
