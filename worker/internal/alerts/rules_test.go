package alerts

import (
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

var testConfig = Config{
	Promise: 30 * time.Second, BacklogFor: 5 * time.Second, DependencyFor: 10 * time.Second, Runbook: "https://example.org/runbook",
	Kinds: Kinds{Surplus: "surplus", SoldOut: "flag", Others: []string{"letters"}},
}

// says is what a look says about an alert: bad, good, between, or unknown.
func says(t *testing.T, s seen, grows bool, key sale.AlertKey) string {
	t.Helper()
	v := testConfig.judge(s, map[string]bool{key.SaleID: grows})
	if !v.judged[key.Name] {
		return "unknown"
	}
	for _, c := range v.conditions {
		switch {
		case c.AlertKey != key:
		case c.bad && c.good:
			t.Fatalf("%+v is bad and good", c)
		case c.bad:
			return "bad"
		case c.good:
			return "good"
		default:
			return "between"
		}
	}
	return "good"
}

func TestJudge_TheBacklogOfASale(t *testing.T) {
	t.Parallel()
	of := func(waiting int64, age time.Duration, rate float64) Backlog {
		return Backlog{SaleID: "a", Waiting: waiting, Age: age, Rate: rate, Measured: true}
	}
	for name, tc := range map[string]struct {
		b                         Backlog
		grows                     bool
		ageHigh, stalled, wontEnd string
	}{
		"nothing waits":                     {of(0, 0, 0), false, "good", "good", "good"},
		"its age is not known":              {of(100, 0, 50), false, "between", "good", "good"},
		"a little waits":                    {of(100, time.Second, 50), false, "good", "good", "good"},
		"at half the promise":               {of(100, 15*time.Second, 50), false, "between", "good", "good"},
		"at the promise":                    {of(100, 30*time.Second, 50), false, "between", "good", "good"},
		"beyond the promise":                {of(100, 31*time.Second, 50), false, "bad", "good", "good"},
		"beyond it and growing":             {of(100, 31*time.Second, 50), true, "bad", "good", "bad"},
		"growing in time":                   {of(100, 10*time.Second, 50), true, "good", "good", "good"},
		"five promises from the end":        {of(1500, time.Second, 10), false, "good", "good", "between"},
		"ten promises from the end":         {of(3000, time.Second, 10), false, "good", "good", "between"},
		"more than ten":                     {of(3001, time.Second, 10), false, "good", "good", "bad"},
		"nothing is served":                 {of(1, time.Second, 0), false, "good", "bad", "between"},
		"nothing is served, and it is late": {of(9, time.Minute, 0), true, "bad", "bad", "between"},
		"its rate is not known":             {Backlog{SaleID: "a", Waiting: 9, Age: time.Minute}, true, "bad", "between", "between"},
	} {
		s := seen{backlog: []Backlog{tc.b}}
		for alert, want := range map[sale.AlertName]string{
			sale.AlertBacklogAgeHigh: tc.ageHigh, sale.AlertBacklogStalled: tc.stalled, sale.AlertBacklogWontDrain: tc.wontEnd,
		} {
			if got := says(t, s, tc.grows, sale.AlertKey{Name: alert, SaleID: "a"}); got != want {
				t.Errorf("%s: %s is %s, want %s", name, alert, got, want)
			}
		}
	}
}

func TestJudge_WhatIsLateAndGrowsIsSaidToGrow(t *testing.T) {
	t.Parallel()
	late := seen{backlog: []Backlog{{SaleID: "a", Waiting: 100, Age: time.Minute, Rate: 50, Measured: true}}}
	for grows, want := range map[bool]string{
		false: "100 reservations wait and 50 a second are served: that takes 2 s",
		true:  "100 reservations wait and 50 a second are served: that takes 2 s, and more come than are served",
	} {
		for _, c := range testConfig.judge(late, map[string]bool{"a": grows}).conditions {
			if c.Name == sale.AlertBacklogWontDrain && c.summary != want {
				t.Errorf("grows %v: %q, want %q", grows, c.summary, want)
			}
		}
	}
}

func TestJudge_ASaleWhoseBacklogWasNotReadStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, alert := range []sale.AlertName{sale.AlertBacklogAgeHigh, sale.AlertSaleNotLive} {
		staysUnread(t, sale.AlertKey{Name: alert, SaleID: "a"})
	}
}

func staysUnread(t *testing.T, key sale.AlertKey) {
	t.Helper()
	firing := book{key: {AlertKey: key, State: sale.AlertFiring, FiredAt: start}}
	for name, tc := range map[string]struct {
		facts *Facts
		want  sale.AlertState
	}{
		"there is the sale":         {&Facts{Sales: []string{"a", "b"}}, sale.AlertFiring},
		"postgres does not say":     {nil, sale.AlertFiring},
		"the sale is retired":       {&Facts{Sales: []string{"b"}}, sale.AlertResolved},
		"there are no sales at all": {&Facts{}, sale.AlertResolved},
	} {
		v := testConfig.judge(seen{backlog: []Backlog{}, live: []Standing{}, facts: tc.facts}, nil)
		if got := firing.evaluated(v, testConfig, start)[key].State; got != tc.want {
			t.Errorf("%s: %s: %s, want %s", key.Name, name, got, tc.want)
		}
	}
}

func TestJudge_ASaleThatIsNotLiveSaysThatThePaceIsPaused(t *testing.T) {
	t.Parallel()
	pause := sale.PacePause{Paused: true, By: sale.Actor{Operator: "ada"}, At: start}
	for facts, want := range map[*Facts]string{
		nil:            "it is being rebuilt",
		{}:             "it is being rebuilt",
		{Pause: pause}: "it is being rebuilt, which waits for orders: " + pause.String(),
	} {
		for _, c := range testConfig.judge(seen{live: []Standing{{"a", true}}, facts: facts}, nil).conditions {
			if c.Name == sale.AlertSaleNotLive && !strings.HasSuffix(c.summary, want) {
				t.Errorf("%q, want %q", c.summary, want)
			}
		}
	}
}

func TestJudge_EverythingElse(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	used := func(r float64) *Used { return &Used{Ratio: r, Of: "bytes"} }
	found := func(kind string) *Facts { return &Facts{Deviations: []Deviation{{"a", kind, 2}}} }
	for name, tc := range map[string]struct {
		s    seen
		key  sale.AlertKey
		want string
	}{
		"slow":                         {seen{slow: &yes}, sale.AlertKey{Name: sale.AlertDatabaseSlow}, "bad"},
		"not slow":                     {seen{slow: &no}, sale.AlertKey{Name: sale.AlertDatabaseSlow}, "good"},
		"pace unknown":                 {seen{}, sale.AlertKey{Name: sale.AlertDatabaseSlow}, "unknown"},
		"dead letters":                 {seen{facts: &Facts{DeadLetters: 1}}, sale.AlertKey{Name: sale.AlertDeadLetters}, "bad"},
		"no dead letters":              {seen{facts: &Facts{}}, sale.AlertKey{Name: sale.AlertDeadLetters}, "good"},
		"postgres does not say":        {seen{}, sale.AlertKey{Name: sale.AlertDeadLetters}, "unknown"},
		"refund owed":                  {seen{facts: &Facts{RefundsOwed: 3}}, sale.AlertKey{Name: sale.AlertRefundOwed}, "bad"},
		"a wrong amount":               {seen{facts: &Facts{WrongAmounts: 1}}, sale.AlertKey{Name: sale.AlertWrongAmount}, "bad"},
		"no wrong amount":              {seen{facts: &Facts{}}, sale.AlertKey{Name: sale.AlertWrongAmount}, "good"},
		"surplus":                      {seen{facts: found("surplus")}, sale.AlertKey{Name: sale.AlertSurplusRejected}, "bad"},
		"surplus is no deviation":      {seen{facts: found("surplus")}, sale.AlertKey{Name: sale.AlertAuditDeviation}, "good"},
		"a flag beside stock":          {seen{facts: found("flag")}, sale.AlertKey{Name: sale.AlertSoldOutWithStock, SaleID: "a"}, "bad"},
		"a flag is no deviation":       {seen{facts: found("flag")}, sale.AlertKey{Name: sale.AlertAuditDeviation}, "good"},
		"the flag of another":          {seen{facts: found("flag")}, sale.AlertKey{Name: sale.AlertSoldOutWithStock, SaleID: "b"}, "good"},
		"dead letters are no other":    {seen{facts: found("letters")}, sale.AlertKey{Name: sale.AlertAuditDeviation}, "good"},
		"any other deviation":          {seen{facts: found("stock_low")}, sale.AlertKey{Name: sale.AlertAuditDeviation}, "bad"},
		"the stream is full":           {seen{streamUsed: used(0.8)}, sale.AlertKey{Name: sale.AlertStreamNearlyFull}, "bad"},
		"the stream is not full again": {seen{streamUsed: used(0.7)}, sale.AlertKey{Name: sale.AlertStreamNearlyFull}, "between"},
		"the stream has room":          {seen{streamUsed: used(0.69)}, sale.AlertKey{Name: sale.AlertStreamNearlyFull}, "good"},
		"a sale is not live":           {seen{live: []Standing{{"a", true}}}, sale.AlertKey{Name: sale.AlertSaleNotLive, SaleID: "a"}, "bad"},
		"a sale is live":               {seen{live: []Standing{{"a", false}}}, sale.AlertKey{Name: sale.AlertSaleNotLive, SaleID: "a"}, "good"},
		"no sale was seen yet":         {seen{}, sale.AlertKey{Name: sale.AlertSaleNotLive, SaleID: "a"}, "unknown"},
		"a store is down":              {seen{up: map[string]bool{"nats": false, "redis": true}}, sale.AlertKey{Name: sale.AlertDependencyDown, Dependency: "nats"}, "bad"},
		"another is up":                {seen{up: map[string]bool{"nats": false, "redis": true}}, sale.AlertKey{Name: sale.AlertDependencyDown, Dependency: "redis"}, "good"},
	} {
		if got := says(t, tc.s, false, tc.key); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	for _, c := range testConfig.judge(seen{facts: found("stock_low")}, nil).conditions {
		if c.Name == sale.AlertAuditDeviation && !strings.Contains(c.summary, "stock_low of a") {
			t.Errorf("the summary is %q", c.summary)
		}
	}
}

func TestTrend_GrowsOnlyOverItsWholeTime(t *testing.T) {
	t.Parallel()
	var tr trend
	at := start
	for i, n := range []int64{5, 9, 8, 7, 6, 5, 4, 3} { // every five seconds
		if grows := tr.note([]Backlog{{SaleID: "a", Waiting: n}}, at); grows["a"] {
			t.Errorf("it grows at look %d", i)
		}
		at = at.Add(5 * time.Second)
	}
	if !tr.note([]Backlog{{SaleID: "a", Waiting: 9}}, at)["a"] { // 8 thirty seconds ago
		t.Error("it does not grow")
	}
	tr.note(nil, at)
	if tr.note([]Backlog{{SaleID: "a", Waiting: 99}}, at.Add(time.Hour))["a"] {
		t.Error("a sale that was gone is remembered")
	}
}
