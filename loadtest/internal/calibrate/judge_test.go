package calibrate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
)

// answers are as many of each class, with that p99.
func answers(n int, p99 float64, classes ...string) Observed {
	o := Observed{Counts: make(map[string]int), Latency: make(map[string]record.Summary)}
	for _, class := range classes {
		o.Counts[class] = n
		o.Latency[class] = record.Summary{Count: int64(n), P50: p99 / 2, P99: p99}
	}
	return o
}

func (o Observed) and(class string, n int) Observed {
	o.Counts[class] += n
	return o
}

func (o Observed) late() Observed {
	o.Tool, o.Late = true, 40*time.Millisecond
	return o
}

func (o Observed) taken() Observed {
	o.Machine = true
	return o
}

func (o Observed) cutShort() Observed {
	o.Planned, o.Sent = 9000, 8000
	return o
}

func TestJudge_TellsServerFromTool(t *testing.T) {
	t.Parallel()
	good := func() Observed { return answers(1000, 20, "in_stock.accepted", "in_stock.replay") }
	slow := func() Observed { return answers(1000, 101, "in_stock.accepted") }
	for name, c := range map[string]struct {
		o       Observed
		verdict Verdict
		why     string
	}{
		"all well":                            {good(), Passes, ""},
		"ordinary refusals are none":          {good().and("sold_out.sold_out", 900).and("early.not_open", 5).and("in_stock.limit_reached", 3), Passes, ""},
		"polls are not attempts":              {good().and("poll.read", 900), Passes, ""},
		"too slow":                            {slow(), Fails, "p99 of in_stock.accepted above 100 ms"},
		"one that was busy is one too many":   {good().and("in_stock.busy", 1), Fails, "1 busy"},
		"an answer that nobody knows":         {good().and("in_stock.status_502", 1), Fails, "1 status_502"},
		"no answer":                           {good().and("in_stock.fault", 4), Fails, "4 without an answer"},
		"late, and within the target so":      {good().late(), Passes, ""},
		"late, but not by so much":            {answers(1000, 141, "in_stock.accepted").late(), Fails, "above 100 ms"},
		"within the target on what was left":  {good().taken(), Passes, ""},
		"slow on what was left":               {slow().taken(), Unclear, "above 100 ms; much of the full machine"},
		"busy on what was left":               {good().and("in_stock.unavailable", 7).taken(), Unclear, "7 unavailable; much of the full machine"},
		"not all sent, nobody says why":       {good().cutShort(), Fails, "only 8000 of 9000"},
		"not all sent, the tool was late":     {good().cutShort().late(), Unclear, "only 8000 of 9000 attempts were sent in time; the tool was late"},
		"late, and slow perhaps therefore":    {slow().late(), Unclear, "above 100 ms; the tool was late"},
		"late, and no answer perhaps for it":  {good().and("in_stock.fault", 4).late(), Unclear, "4 without an answer; the tool was late"},
		"late, but the gateway was busy":      {good().and("in_stock.busy", 7).late(), Fails, "7 busy"},
		"sold-out refusals have no target":    {good().and("sold_out.sold_out", 9), Passes, ""},
		"everybody was busy":                  {answers(1000, 3, "in_stock.busy"), Fails, "1000 busy"},
		"a slow class of few is not a p99":    {few(good()), Passes, ""},
		"a paused sale is not a healthy rate": {good().and("in_stock.paused", 1), Fails, "1 paused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Latency["sold_out.sold_out"] = record.Summary{Count: 9000, P99: 5000}
			got, err := Judge(c.o, 100)
			if err != nil || got.Verdict != c.verdict || !strings.Contains(got.Why, c.why) {
				t.Errorf("%+v, %v; want %s because of %q", got, err, c.verdict, c.why)
			}
		})
	}
}

func few(o Observed) Observed {
	o.Counts["in_stock.confirmed"] = 3
	o.Latency["in_stock.confirmed"] = record.Summary{Count: 3, P99: 900}
	return o
}

func TestJudge_NamesTheClassesThatWereTooFewToJudge(t *testing.T) {
	t.Parallel()
	got, err := Judge(few199(answers(1000, 20, "in_stock.accepted")), 100)
	if err != nil || got.Verdict != Passes || !slices.Equal(got.Few, []string{"in_stock.replay"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func few199(o Observed) Observed {
	o.Latency["in_stock.replay"] = record.Summary{Count: 199, P99: 900}
	return o
}

func TestLateBy_OneLateAttemptDoesNotExcuseAP99(t *testing.T) {
	t.Parallel()
	if late := lateBy(attack.Lateness{Attempts: 1000, Tool: 1, Worst: time.Second}); late != 0 {
		t.Errorf("one of 1000 late: %s", late)
	}
	if late := lateBy(attack.Lateness{Attempts: 1000, Tool: 11, Worst: time.Second}); late != time.Second {
		t.Errorf("11 of 1000 late: %s", late)
	}
}

func TestJudge_TheWorseOfTheClassesCounts(t *testing.T) {
	t.Parallel()
	o := answers(1000, 20, "in_stock.accepted")
	o.Latency["in_stock.replay"] = record.Summary{Count: 1000, P50: 30, P99: 60}
	if got, err := Judge(o, 50); err != nil || got.Verdict != Fails || got.Class != "in_stock.replay" || got.P99 != 60 || got.P50 != 30 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestJudge_WhatSaysNothingIsAnError(t *testing.T) {
	t.Parallel()
	soldOut := answers(100, 1, "in_stock.accepted").and("sold_out.sold_out", 900)
	soldOut.Meant = 1000
	for name, c := range map[string]struct {
		o    Observed
		says string
	}{
		"the stock ran out":       {soldOut, "of 1000 attempts for sales with stock only 100 found any"},
		"nobody is known":         {answers(1000, 1, "in_stock.unauthenticated"), "1000 were answered unauthenticated"},
		"a sale is not there":     {answers(1000, 1, "in_stock.accepted").and("in_stock.no_such_sale", 7), "7 were answered no_such_sale"},
		"the limit of an address": {answers(1000, 1, "in_stock.accepted").and("in_stock.too_many", 7), "7 attempts were refused as too many of one address or user, which is no overload: the tool has one address. For the test start the gateways with -address-rate 0"},
		"too few for a p99":       {answers(20, 1, "in_stock.accepted"), "20 in_stock.accepted"},
		"nothing came back yet":   {Observed{}, "nothing was answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Judge(c.o, 100); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v; want an error with %q", got, err, c.says)
			}
		})
	}
}
