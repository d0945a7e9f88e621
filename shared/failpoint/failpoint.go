// Package failpoint makes a process die or err at an exact point of its code,
// so that tests can hit windows which random kills rarely meet.
//
// It is off unless SLUICE_FAILPOINTS is in the environment of the process: no
// flag and no request reaches it. A point that is not armed costs one nil check.
//
//	SLUICE_FAILPOINTS="after_commit=kill@3,publish=error"
package failpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
)

// Variable is the only way to arm failpoints.
const Variable = "SLUICE_FAILPOINTS"

// ErrInjected is wrapped by the error of a point armed with `error`.
var ErrInjected = errors.New("injected by a failpoint")

// Set holds the armed points of a process. The nil Set has none.
type Set struct {
	points map[string]*point
}

type point struct {
	kill bool
	at   int64 // the hit that counts, from 1; 0 is every hit
	hits atomic.Int64
}

// Load parses the environment's failpoints and logs a warning when any is
// armed. It returns nil, which is ready for use, when none is.
func Load(getenv func(string) string, log *slog.Logger, known ...string) (*Set, error) {
	set, err := Parse(getenv(Variable), known...)
	if err != nil {
		return nil, err
	}
	if set != nil {
		log.Warn("failpoints armed: this process will kill itself or fail on purpose", "failpoints", set.Names())
	}
	return set, nil
}

// Hit counts one pass through the named point. At the armed hit it kills the
// process with SIGKILL, or returns an error that wraps ErrInjected.
func (s *Set) Hit(name string) error {
	if s == nil {
		return nil
	}
	p := s.points[name]
	if p == nil {
		return nil
	}
	if n := p.hits.Add(1); p.at != 0 && n != p.at {
		return nil
	}
	if p.kill {
		die(name)
	}
	return fmt.Errorf("failpoint %s: %w", name, ErrInjected)
}

// Names lists the armed points, sorted.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.points))
}

// die never returns: no deferred call and no flush may run, as after kill -9. What
// it was killed by is written where a test can find it.
func die(name string) {
	fmt.Fprintf(os.Stderr, "failpoint %s: killed\n", name)
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}
