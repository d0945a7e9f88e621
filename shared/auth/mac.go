package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// macs lend HMAC-SHA256 states of one key: to make one costs more than to compute the MAC
// of a short text. It may be used concurrently.
type macs struct{ idle sync.Pool }

func newMACs(key []byte) *macs {
	return &macs{idle: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// of appends the MAC of the text to into.
func (m *macs) of(into, text []byte) []byte {
	state := m.idle.Get().(hash.Hash)
	state.Reset()
	state.Write(text)
	into = state.Sum(into)
	m.idle.Put(state)
	return into
}

// workspace is the memory that one token or ticket is verified in, and then the next.
type workspace struct {
	token                     []byte
	signed, claims, signature []byte // parts of the token, encoded
	bySecret                  bool   // says the token's header, and nothing else that would matter
	text                      []byte // of a part, decoded; what a ticket's MAC is over
	mac                       []byte // what the signature must be
	reader                    plainReader
}

var idleWorkspaces = sync.Pool{New: func() any { return new(workspace) }}
