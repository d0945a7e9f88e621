package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/shared/sale"
)

// matrix is what a run of the matrix of faults came to, for people: a row's rounds stand
// together, whatever the order in which they ran.
type matrix struct {
	Text string
	Head []string
	Rows []faultRow
}

// faultHead are the headings of a round's cells.
var faultHead = []string{"seed", "injected at", "hits, and how they were seen", "invariants", "recovery, of its bound", "verdict"}

// faultRow is one row of the matrix with its rounds.
type faultRow struct {
	Row, Name, Fault, Expect string
	Control                  string // what it must show; empty if it is no control
	Word, Class              string // of all its rounds
	Rounds                   []faultRound
}

// faultRound is one seed of a row.
type faultRound struct {
	Seed, Injected, Hits string
	HitBy                []string
	Held                 []string // invariants
	Unjudged             bool
	NotRun               string // why
	Violated, Shown      []sale.Violation
	Recovery             string // of its bound
	Again, Logs          string // of one that failed
	Interrupted          bool
	Share                int // of the bound that the recovery took, in percent, at most 100
	Late                 bool
	Word, Class          string
}

// matrix of the report's faults; nil without any.
func (r Report) matrix() *matrix {
	if len(r.Faults) == 0 {
		return nil
	}
	m := &matrix{Head: faultHead}
	for _, rounds := range r.faultRows() {
		m.Rows = append(m.Rows, rowOf(rounds))
	}
	m.Text = fmt.Sprintf("%s in %s. Times are of a machine that runs everything at once; a recovery may take up to three times its bound before it counts as a violation, and is called late from its bound on.",
		many(int64(len(m.Rows)), "row", "rows"), many(int64(len(r.Faults)), "round", "rounds"))
	return m
}

// faultRows are the rounds of each row, in the order of the matrix and of the seeds.
func (r Report) faultRows() (rows [][]Fault) {
	sorted := slices.Clone(r.Faults)
	slices.SortStableFunc(sorted, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(rowNumber(a.Row), rowNumber(b.Row)), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Seed, b.Seed))
	})
	for _, f := range sorted {
		if n := len(rows); n > 0 && rows[n-1][0].Row == f.Row {
			rows[n-1] = append(rows[n-1], f)
			continue
		}
		rows = append(rows, []Fault{f})
	}
	return rows
}

// rowNumber is the number that a row's name begins with.
func rowNumber(row string) int {
	digits := strings.TrimRightFunc(row, func(c rune) bool { return c < '0' || c > '9' })
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func rowOf(rounds []Fault) faultRow {
	first := rounds[0]
	row := faultRow{Row: first.Row, Name: first.Name, Fault: first.Fault, Expect: first.Expect, Control: first.Shows}
	row.Word, row.Class = together(rounds)
	for _, f := range rounds {
		row.Rounds = append(row.Rounds, f.round())
	}
	return row
}

// together is what all rounds of a row came to: the worst.
func together(rounds []Fault) (word, class string) {
	failed, late, undone := 0, 0, 0
	for _, f := range rounds {
		switch {
		case f.Interrupted:
			undone++
		case f.NotRun != "":
			return f.word(), "failed"
		case !f.Pass:
			failed++
		case !f.InTime:
			late++
		}
	}
	switch {
	case failed > 0 && len(rounds) > 1:
		return fmt.Sprintf("FAIL, %d of %d", failed, len(rounds)), "failed"
	case failed > 0:
		return "FAIL", "failed"
	case undone == 1 && len(rounds) == 1:
		return rounds[0].word(), "undone"
	case undone > 0:
		return fmt.Sprintf("NOT JUDGED, %d of %d", undone, len(rounds)), "undone"
	case late > 0:
		return "pass, late", "late"
	default:
		return "pass", "passed"
	}
}

func (f Fault) round() faultRound {
	round := faultRound{Seed: strconv.FormatUint(f.Seed, 10), Injected: inSeconds(f.InjectedS), Hits: count(int64(f.Hits)), HitBy: f.HitBy,
		Held: f.Held(), Unjudged: len(f.Invariants) == 0 && f.NotRun == "", NotRun: f.NotRun, Interrupted: f.Interrupted, Violated: f.Violations, Shown: f.Shown,
		Recovery: "none of " + inSeconds(f.BoundS), Late: f.RecoveryS > f.BoundS, Again: f.Again, Logs: f.Logs}
	if f.recovered() {
		round.Recovery = inSeconds(f.RecoveryS) + " of " + inSeconds(f.BoundS)
	}
	if f.BoundS > 0 {
		round.Share = int(100 * min(1, f.RecoveryS/f.BoundS))
	}
	round.Word, round.Class = together([]Fault{f})
	return round
}

// Held are the invariants that the round was held against and that held.
func (f Fault) Held() []string {
	return slices.DeleteFunc(slices.Clone(f.Invariants), func(name string) bool {
		is := func(v sale.Violation) bool { return v.Invariant == name }
		return slices.ContainsFunc(f.Violations, is) || slices.ContainsFunc(f.Shown, is)
	})
}

// faultTiles are what is looked for first in a run of the matrix.
func (r Report) faultTiles() []tile {
	var accepted, unknown int64
	passed, controls := 0, 0
	rows := r.faultRows()
	for _, rounds := range rows {
		if _, class := together(rounds); class == "passed" || class == "late" {
			passed++
		}
		if rounds[0].Shows != "" {
			controls++
		}
		for _, f := range rounds {
			accepted, unknown = accepted+f.Accepted, unknown+f.Unknown
		}
	}
	return []tile{
		{fmt.Sprintf("%d of %d", passed, len(rows)), "rows pass"}, {count(int64(len(r.Faults))), "rounds"}, {count(int64(controls)), "controls among the rows"},
		{count(accepted), "attempts answered 202"}, {count(unknown), "left without a certain answer"},
	}
}

// PrintFaults prints a line a row, with its seeds side by side.
func (r Report) PrintFaults(w io.Writer) error {
	return printTable(w, "row\tfault\tseeds\tinjected at s\thits\tinvariants\trecovery s\tbound s\tverdict", func(row func(string, ...any)) {
		recovery := func(f Fault) string {
			if !f.recovered() {
				return "–"
			}
			return fmt.Sprintf("%.1f", f.RecoveryS)
		}
		for _, rounds := range r.faultRows() {
			first := rounds[0]
			name := first.Name
			if first.Shows != "" {
				name += " (control)"
			}
			word, _ := together(rounds)
			row("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%g\t%s", first.Row, name, each(rounds, func(f Fault) string { return fmt.Sprint(f.Seed) }),
				each(rounds, func(f Fault) string { return fmt.Sprintf("%.1f", f.InjectedS) }), each(rounds, func(f Fault) string { return fmt.Sprint(f.Hits) }),
				invariantsOf(rounds), each(rounds, recovery), first.BoundS, word)
		}
	})
}

func each(rounds []Fault, of func(Fault) string) string {
	words := make([]string, len(rounds))
	for i, f := range rounds {
		words[i] = of(f)
	}
	return strings.Join(words, " ")
}

// invariantsOf says in a few words what the rounds of a row held, violated and showed.
func invariantsOf(rounds []Fault) string {
	violated, shown := map[string]bool{}, map[string]bool{}
	judged := true
	if !slices.ContainsFunc(rounds, func(f Fault) bool { return f.NotRun == "" }) {
		return "not run"
	}
	for _, f := range rounds {
		judged = judged && len(f.Invariants) > 0
		for _, v := range f.Violations {
			violated[v.Invariant] = true
		}
		for _, v := range f.Shown {
			shown[v.Invariant] = true
		}
	}
	var words []string
	if len(violated) > 0 {
		words = append(words, "violated: "+sorted(violated))
	}
	if len(shown) > 0 {
		words = append(words, "shown: "+sorted(shown))
	}
	switch {
	case !judged:
		words = append(words, "not judged")
	case words == nil:
		words = append(words, "held")
	}
	return strings.Join(words, "; ")
}

func sorted(names map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(names)), " ") }
