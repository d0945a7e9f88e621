package compare

import (
	"cmp"
	"fmt"
	"slices"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// shown is what Sluice's processes did in one round of one part.
type shown struct {
	part  string
	round int
	seen  collect.Seen
	rows  int64 // that the database wrote
}

func (s shown) writes() report.Writes {
	var rep report.Report
	s.seen.Show(&rep, s.rows)
	return rep.Writes
}

// middle is the round of a part that wrote a second what the median of the rounds did; of
// an even number the lower one.
func middle(all []shown, part string) (s shown, ok bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(s shown) bool { return s.part != part })
	if len(all) == 0 {
		return s, false
	}
	slices.SortStableFunc(all, func(a, b shown) int { return cmp.Compare(a.writes().PerSecond(), b.writes().PerSecond()) })
	return all[(len(all)-1)/2], true
}

// show puts into the report what one round's processes did: of the sale, if there was one,
// or else of the incident.
func (r *run) show(rep *report.Report) {
	for _, part := range []string{PartSale, PartIncident} {
		if s, ok := middle(r.shown, part); ok {
			s.seen.Show(rep, s.rows)
			r.limits = append(r.limits, fmt.Sprintf("Processes, workers' settings, pace and db_writes are of one round, round %d of part %s: that with the median of rows written a second.", s.round+1, part))
			return
		}
	}
}

// writes are those of all rounds, by part.
func (r *run) writes() map[string][]report.Writes {
	all := make(map[string][]report.Writes)
	for _, s := range r.shown {
		all[s.part] = append(all[s.part], s.writes())
	}
	return all
}
