package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/profiles"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/usage"
)

// topFunctions of a profile are told.
const topFunctions = 10

// again is a measurement that is made once more, with a profile, for a target that is not
// held: what is profiled is slower, and so counts in no ratio.
type again struct {
	name     string
	targets  []string // ratios that it is about
	scenario scenario
}

func (b *bench) measurementsAgain() []again {
	return []again{
		{refusalName, []string{"refusal_vs_empty", allocsMore}, b.refusal},
		{refusalHalfName, []string{"refusal_p99_vs_empty"}, b.halfRate},
		{acceptName(b.many()), []string{acceptName(b.many()) + "_vs_one_by_one", acceptName(b.many()) + "_vs_empty"}, b.accept(b.many())},
		{acceptName(b.few()), []string{acceptName(b.few()) + "_vs_one_by_one", acceptName(b.few()) + "_vs_empty"}, b.accept(b.few())},
		{ordersName, []string{"orders_vs_raw_batch", "orders_vs_one_per_tx"}, b.orders},
		{quotesName, []string{bruteForceRatio, quoteP99}, b.quotes},
	}
}

// bounds measures what missed its target once more and says what bounds it.
func (b *bench) bounds(ctx context.Context, ratios map[string]report.Spread) error {
	missed := missedOf(ratios)
	for _, m := range b.measurementsAgain() {
		var why []string
		for _, name := range m.targets {
			if p, is := missed[name]; is {
				why = append(why, fmt.Sprintf("%s is %s", name, p.Found()))
				b.bounded[name] = true
			}
		}
		if len(why) == 0 {
			continue
		}
		if err := b.bound(ctx, m, strings.Join(why, "; ")); err != nil {
			return fmt.Errorf("what bounds %s: %w", m.name, err)
		}
	}
	return nil
}

// missedOf are the promises that measured ratios do not hold.
func missedOf(ratios map[string]report.Spread) map[string]report.Promise {
	missed := make(map[string]report.Promise)
	for _, p := range promises {
		if found, measured := ratios[p.Name]; measured && !p.Judge(found.Median).Held {
			missed[p.Name] = p.Judge(found.Median)
		}
	}
	return missed
}

// bound takes the figures of one measurement once more, in a sale of its own.
func (b *bench) bound(ctx context.Context, m again, why string) error {
	if err := b.worker.Halt(ctx); err != nil {
		return err
	}
	return b.profiled(m.name, why, func() error {
		if err := m.scenario(ctx, b.Rounds, maps.Clone(b.rounds[len(b.rounds)-1])); err != nil {
			return err
		}
		return b.catchUp(ctx, 0, nil)
	})
}

// profiled makes a measurement with a profile and says what it shows.
func (b *bench) profiled(name, why string, measurement func() error) error {
	b.say("once more, with a profile: %s", why)
	b.watched = &watched{name: name, dir: b.Profiles, token: b.Stack.Secrets.AdminToken}
	defer func() { b.watched = nil }()
	if err := measurement(); err != nil {
		return err
	}
	said, err := b.watched.words()
	b.rep.Words = append(b.rep.Words, why+". "+said)
	return err
}

// watched is a measurement whose processes are profiled.
type watched struct {
	name, dir, token string
	cores            map[string]float64 // on average, by program
	files            map[string]string  // of profiles, by program
}

// watch profiles a program while a measurement of this name goes on, if that is to be
// profiled, and counts the CPU time of all; what it returns waits for the profile.
func (b *bench) watch(ctx context.Context, name, program, opsURL string, during time.Duration) (stop func() error, err error) {
	w := b.watched
	if w == nil || w.name != name {
		return func() error { return nil }, nil
	}
	began := time.Now()
	before, err := b.used()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(w.dir, name+"."+program+".pb.gz")
	w.files = map[string]string{program: path}
	taken := make(chan error, 1)
	go func() {
		taken <- profiles.Take(ctx, opsURL, w.token, max(1, int(during.Round(time.Second).Seconds())), path)
	}()
	return func() error {
		after, err := b.used()
		took := time.Since(began)
		w.cores = make(map[string]float64)
		for program, used := range after {
			w.cores[program] = (used - before[program]).Seconds() / took.Seconds()
		}
		return errors.Join(err, <-taken)
	}, nil
}

// watchSelf profiles this process while a measurement of this name goes on, if that is to
// be profiled.
func (b *bench) watchSelf(name string) (stop func() error, err error) {
	w := b.watched
	if w == nil || w.name != name {
		return func() error { return nil }, nil
	}
	path := filepath.Join(w.dir, name+".client.pb.gz")
	w.files = map[string]string{"client": path}
	return profiles.Self(path)
}

// used is the CPU time of everything on the machine.
func (b *bench) used() (processTimes, error) {
	all, err := b.orderCPU()
	client, err2 := usage.CPU(os.Getpid())
	machine, err3 := usage.Machine()
	all["client"], all["whole machine"] = client, machine
	return all, errors.Join(err, err2, err3)
}

// words say where the time went.
func (w *watched) words() (string, error) {
	var cores []string
	for _, program := range slices.SortedFunc(maps.Keys(w.cores), func(a, c string) int { return cmp.Compare(w.cores[c], w.cores[a]) }) {
		cores = append(cores, fmt.Sprintf("%s %.2f", program, w.cores[program]))
	}
	said := []string{"Measured once more with a profile"}
	if len(cores) > 0 {
		said = append(said, "cores used: "+strings.Join(cores, ", "))
	}
	for program, path := range w.files {
		top, err := profiles.Read(path, topFunctions)
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s, of %.1f s of CPU, by package, with what each asks of the runtime and the kernel: %s", program, top.Seconds, profiles.Words(top.Packages)),
			"by function: "+profiles.Words(top.Own), "profile: "+filepath.Join(filepath.Base(w.dir), filepath.Base(path)))
	}
	return strings.Join(said, "; ") + ".", nil
}
