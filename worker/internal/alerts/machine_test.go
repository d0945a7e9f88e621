package alerts

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// What each second of a look says.
const (
	ill     = 'x'
	between = '-'
	well    = '.'
)

// play runs an alert through looks, one a second, and returns its state after each: a
// letter, or a space for none.
func play(a sale.Alert, looks string, p patience) (states string, last sale.Alert) {
	letters := map[sale.AlertState]string{"": " ", sale.AlertPending: "p", sale.AlertFiring: "F", sale.AlertResolved: "r"}
	for i, look := range looks {
		c := condition{AlertKey: a.AlertKey, bad: look == ill, good: look == well, value: float64(i), summary: "summary"}
		a = next(a, c, p, start.Add(time.Duration(i)*time.Second))
		states += letters[a.State]
	}
	return states, a
}

func TestNext_AnAlertFiresAndEndsOnlyAfterItsTime(t *testing.T) {
	t.Parallel()
	patient := patience{before: 3 * time.Second, after: 2 * time.Second}
	for name, tc := range map[string]struct {
		looks, want string
		p           patience
	}{
		"it holds for long enough":              {"xxxxx", "pppFF", patient},
		"it does not":                           {"xxx.xxx", "ppp ppp", patient},
		"what lies between is not ill":          {"xx-xxxx", "pp pppF", patient},
		"what lies between is not well either":  {"xxxx----", "pppFFFFF", patient},
		"it ends once it was well for a while":  {"xxxx....", "pppFFFrr", patient},
		"well for a moment is not enough":       {"xxxx..x..-..", "pppFFFFFFFFF", patient},
		"it comes again":                        {"xxxx...xxxx", "pppFFFrpppF", patient},
		"it nearly comes again":                 {"xxxx...xx..", "pppFFFrpprr", patient},
		"without patience it fires at once":     {"x.x", "FrF", patience{}},
		"without patience between ends nothing": {"x-.", "FFr", patience{}},
		"nothing happens":                       {".-.", "   ", patient},
	} {
		if got, _ := play(sale.Alert{}, tc.looks, tc.p); got != tc.want {
			t.Errorf("%s: %q becomes %q, want %q", name, tc.looks, got, tc.want)
		}
	}
}

func TestNext_TimesAreThoseOfTheChanges(t *testing.T) {
	t.Parallel()
	p := patience{before: 2 * time.Second, after: time.Second}
	_, a := play(sale.Alert{}, "xxx..", p)
	if !a.Since.Equal(start) || !a.FiredAt.Equal(start.Add(2*time.Second)) || !a.ResolvedAt.Equal(start.Add(4*time.Second)) || a.Summary != "summary" {
		t.Errorf("%+v", a)
	}
	// What has held for long before the first look fires at once.
	c := condition{bad: true, held: time.Minute}
	if a := next(sale.Alert{}, c, p, start); a.State != sale.AlertFiring || !a.Since.Equal(start.Add(-time.Minute)) {
		t.Errorf("%+v", a)
	}
}

func TestUntold_IsTheNewestStateThatTheReceiverDoesNotKnow(t *testing.T) {
	t.Parallel()
	ended := start
	for name, tc := range map[string]struct {
		alert sale.Alert
		want  sale.AlertState
	}{
		"pending for the first time":           {sale.Alert{State: sale.AlertPending}, ""},
		"firing":                               {sale.Alert{State: sale.AlertFiring}, sale.AlertFiring},
		"firing, told":                         {sale.Alert{State: sale.AlertFiring, Told: sale.AlertFiring}, ""},
		"resolved":                             {sale.Alert{State: sale.AlertResolved, ResolvedAt: ended, Told: sale.AlertFiring}, sale.AlertResolved},
		"resolved before it was told":          {sale.Alert{State: sale.AlertResolved, ResolvedAt: ended}, sale.AlertResolved},
		"resolved, told":                       {sale.Alert{State: sale.AlertResolved, ResolvedAt: ended, Told: sale.AlertResolved}, ""},
		"pending again, its end not told":      {sale.Alert{State: sale.AlertPending, ResolvedAt: ended, Told: sale.AlertFiring}, sale.AlertResolved},
		"firing again, told of the end before": {sale.Alert{State: sale.AlertFiring, ResolvedAt: ended, Told: sale.AlertResolved}, sale.AlertFiring},
	} {
		if got := untold(tc.alert); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestMerged_TheNewerChangeHoldsAndNothingToldIsLost(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	fired := func(s int, told sale.AlertState) sale.Alert {
		return sale.Alert{State: sale.AlertFiring, FiredAt: at(s), Told: told}
	}
	ended := func(from, to int, told sale.AlertState) sale.Alert {
		return sale.Alert{State: sale.AlertResolved, FiredAt: at(from), ResolvedAt: at(to), Told: told}
	}
	pending := sale.Alert{State: sale.AlertPending, Since: at(9)}
	for name, tc := range map[string]struct{ row, own, want sale.Alert }{
		"found alone":                 {sale.Alert{}, fired(1, sale.AlertFiring), fired(1, sale.AlertFiring)},
		"found by both":               {fired(1, ""), fired(2, sale.AlertFiring), fired(1, sale.AlertFiring)},
		"ended alone":                 {fired(1, sale.AlertFiring), ended(1, 3, sale.AlertResolved), ended(1, 3, sale.AlertResolved)},
		"fires again, by another":     {fired(5, ""), ended(1, 3, sale.AlertResolved), fired(5, "")},
		"ended by another":            {ended(1, 3, sale.AlertResolved), fired(1, sale.AlertFiring), ended(1, 3, sale.AlertResolved)},
		"pending here only":           {fired(1, sale.AlertFiring), pending, fired(1, sale.AlertFiring)},
		"not known here":              {fired(1, ""), sale.Alert{}, fired(1, "")},
		"pending there, fires here":   {pending, fired(2, sale.AlertFiring), fired(2, sale.AlertFiring)},
		"resolved long ago, new here": {ended(1, 2, sale.AlertResolved), fired(4, sale.AlertFiring), fired(4, sale.AlertFiring)},
	} {
		if got := merged(tc.row, tc.own); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
