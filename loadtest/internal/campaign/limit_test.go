package campaign

import (
	"strings"
	"testing"

	"sluice/loadtest/internal/attack"
)

func TestLimit_SaysWhoseItWas(t *testing.T) {
	t.Parallel()
	quiet := Usage{CPUs: 2, Machine: 1.2, Tool: 0.4, Stack: 0.8}
	byStack := Usage{CPUs: 2, Machine: 2, Tool: 0.4, Stack: 1.5}
	byTool := Usage{CPUs: 2, Machine: 1.95, Tool: 1.2, Stack: 0.7}
	byBoth := Usage{CPUs: 2, Machine: 2, Tool: 0.9, Stack: 1.1}
	byOthers := Usage{CPUs: 2, Machine: 2, Tool: 0.4, Stack: 0.6}
	kept := attack.Lateness{Attempts: 1000, Tool: 10, Connections: 10}
	late := attack.Lateness{Attempts: 1000, Tool: 500, Connections: 100}
	waited := attack.Lateness{Attempts: 1000, Tool: 100, Connections: 500}
	for name, c := range map[string]struct {
		late    attack.Lateness
		use     Usage
		counts  map[string]int
		want    Limit
		mention string
	}{
		"nothing":                            {kept, quiet, nil, LimitNone, "Neither the tool nor the server"},
		"few refusals are none":              {kept, quiet, map[string]int{"in_stock.busy": 10}, LimitNone, "the tool took 0.40, the stack 0.80, everything else 0.00"},
		"overload is the server's":           {kept, quiet, map[string]int{"in_stock.busy": 6, "sold_out.unavailable": 5}, LimitServer, "11 of 1000 attempts were answered busy"},
		"so is what has no answer":           {kept, quiet, map[string]int{"in_stock.fault": 500}, LimitServer, "500 not at all"},
		"a few without an answer are none":   {kept, quiet, map[string]int{"in_stock.fault": 10}, LimitNone, "Neither the tool nor the server"},
		"no answer beside others at work":    {kept, byOthers, map[string]int{"in_stock.fault": 500}, LimitMachine, "500 not at all"},
		"nobody reported":                    {attack.Lateness{}, quiet, nil, LimitUnknown, "is not known"},
		"late senders are the tool's":        {late, quiet, nil, LimitTool, "500 were sent late by senders that were free"},
		"late senders overrule refusals":     {late, byStack, map[string]int{"in_stock.busy": 500}, LimitTool, "not the server"},
		"no connection with cores to spare":  {waited, quiet, nil, LimitConnections, "all 64 waited for answers"},
		"no connection and a stack at work":  {waited, byStack, nil, LimitServer, "all 64 connections waited"},
		"no connection and a tool at work":   {waited, byTool, nil, LimitTool, "the tool took 1.20"},
		"kept by a tool that took the cores": {kept, byTool, nil, LimitTool, "took most of the machine"},
		"no connection, and both at work":    {waited, byBoth, nil, LimitMachine, "whether the tool or the server on it is unclear"},
		"most are refused by limits":         {late, byOthers, map[string]int{"in_stock.too_many": 920}, LimitLimits, "920 of 1000 attempts were refused too_many"},
		"some are refused by limits":         {kept, quiet, map[string]int{"early.too_many": 20}, LimitLimits, "20 of 1000"},
		"limits refuse a few, the tool late": {late, quiet, map[string]int{"early.too_many": 20}, LimitTool, "not the server"},
		"others at work":                     {late, byOthers, nil, LimitMachine, "everything else 1.00"},
		"others at work, but it was kept":    {kept, byOthers, nil, LimitNone, "everything else 1.00"},
	} {
		o := Outcome{Counts: c.counts}
		l := loadOf(o.outcomes(), c.late, c.use)
		l.sent = 1000 // the others bought
		if got, words := l.limit(64); got != c.want || !strings.Contains(words, c.mention) {
			t.Errorf("%s: %s, %q; want %s and %q", name, got, words, c.want, c.mention)
		}
	}
}

func TestLimitOfSteps_IsOfTheFirstThatHadOneAndNamesIt(t *testing.T) {
	t.Parallel()
	o := Outcome{Limit: LimitMachine, Words: "over all", Steps: []Step{
		{PerSecond: 2000, Limit: LimitNone}, {PerSecond: 5000, Limit: LimitTool, Words: "The tool."}, {PerSecond: 8000, Limit: LimitServer},
	}}
	if o.limitOfSteps(); o.Limit != LimitTool || o.Words != "At 5000 attempts a second, step 2 of 3: The tool." {
		t.Errorf("%s, %q", o.Limit, o.Words)
	}
	o = Outcome{Limit: LimitMachine, Words: "over all", Steps: []Step{{Limit: LimitServer, Words: "of one"}}}
	if o.limitOfSteps(); o.Limit != LimitMachine || o.Words != "over all" {
		t.Errorf("of a single step: %s, %q", o.Limit, o.Words)
	}
}
