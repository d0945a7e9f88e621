package faultproxy

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// commitScanner finds COMMITs in what one client of Postgres sends, in whatever pieces
// it comes: as a simple query, or as the execution of a statement parsed before,
// alone or in a pipeline. Of a client that speaks something else it finds none.
type commitScanner struct {
	phase   phase
	header  []byte // of the message that has begun, while incomplete
	kind    byte   // of the message whose body follows
	body    []byte // the first bodyKept bytes of it
	missing int    // bytes of the body that are still to come
	begun   int    // where the message begins in this piece; 0 if it began before

	statements map[string]bool // by name: whether it is a commit
	portals    map[string]bool
}

// phase is how far a connection is.
type phase int

const (
	starting phase = iota // the startup message, perhaps asked for encryption before
	talking
	foreign // not Postgres, or encrypted
)

const (
	startupHeader = 8    // length and version
	messageHeader = 5    // kind and length
	bodyKept      = 1024 // names and a commit are shorter
)

// commits returns where in the piece COMMITs begin, in order.
func (s *commitScanner) commits(piece []byte) (found []int) {
	s.begun = 0
	for at := 0; at < len(piece) && s.phase != foreign; {
		if s.missing == 0 && len(s.header) == 0 {
			s.begun = at
		}
		at += s.take(piece[at:])
		if s.missing > 0 || len(s.header) > 0 {
			continue
		}
		if s.isCommit() {
			found = append(found, s.begun)
		}
	}
	return found
}

// take takes what belongs to one header or one body, and returns how much that is.
// A message is complete when neither is left open.
func (s *commitScanner) take(rest []byte) int {
	if s.missing > 0 {
		n := min(s.missing, len(rest))
		s.body = append(s.body, rest[:min(n, bodyKept-len(s.body))]...)
		s.missing -= n
		return n
	}
	size := messageHeader
	if s.phase == starting {
		size = startupHeader
	}
	n := min(size-len(s.header), len(rest))
	s.header = append(s.header, rest[:n]...)
	if len(s.header) == size {
		s.open()
		s.header = s.header[:0]
	}
	return n
}

// open reads a header that is complete.
func (s *commitScanner) open() {
	s.kind, s.body = 0, s.body[:0]
	if s.phase == starting {
		s.start(binary.BigEndian.Uint32(s.header), binary.BigEndian.Uint32(s.header[4:]))
		return
	}
	s.kind = s.header[0]
	s.expect(binary.BigEndian.Uint32(s.header[1:]), 4)
}

// start reads the length and version of a startup message.
func (s *commitScanner) start(length, version uint32) {
	const cancel, ssl, gss = 80877102, 80877103, 80877104
	switch {
	case version>>16 == 3:
		s.phase = talking
		s.expect(length, startupHeader)
	case version == ssl || version == gss: // if the server agrees, what follows is no startup
	case version == cancel:
		s.expect(length, startupHeader)
	default:
		s.phase = foreign
	}
}

// expect makes what is left of a message's length the body that is missing.
func (s *commitScanner) expect(length, taken uint32) {
	const most = 1 << 30 // what Postgres takes
	if length < taken || length > most {
		s.phase = foreign
		return
	}
	s.missing = int(length - taken)
}

// isCommit notes what the message just completed says, and whether it commits.
func (s *commitScanner) isCommit() bool {
	first, rest, _ := bytes.Cut(s.body, []byte{0})
	second, _, _ := bytes.Cut(rest, []byte{0})
	switch s.kind {
	case 'Q': // a simple query
		return commits(first)
	case 'P': // Parse: a statement's name and text
		s.statements = note(s.statements, first, commits(second))
	case 'B': // Bind: a portal's name and its statement's
		s.portals = note(s.portals, first, s.statements[string(second)])
	case 'E': // Execute: a portal's name
		return s.portals[string(first)]
	}
	return false
}

func note(m map[string]bool, name []byte, commit bool) map[string]bool {
	if m == nil {
		m = make(map[string]bool)
	}
	m[string(name)] = commit
	return m
}

// commits reports whether the last statement of a query is a COMMIT.
func commits(query []byte) bool {
	if len(query) >= bodyKept {
		return false // its end was not kept
	}
	text := strings.TrimRight(strings.ToLower(string(query)), "; \t\r\n")
	last := strings.TrimSpace(text[strings.LastIndexByte(text, ';')+1:])
	return last == "commit" || last == "end"
}
