package stack

import "testing"

func TestGateways_AreAddedAndSupervisedLikeTheOthers(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	stack := start(ctx, t, fakeConfig(t, "sales: []", ""))
	before := len(stack.Info().Gateways)
	added, err := stack.AddGateways(ctx, 3)
	if err != nil || len(added) != 3 {
		t.Fatalf("added %v, %v", added, err)
	}
	info := stack.Info()
	if len(info.Gateways) != before+3 || info.Gateways[before+2] != added[2] {
		t.Errorf("gateways %v, added %v", info.Gateways, added)
	}
	if err := stack.Kill(ctx, "gateway", before+1); err != nil { // and it comes again
		t.Fatal(err)
	}
	announced, err := ReadInfo(stack.config.OutDir + "/" + InfoFile)
	if err != nil || len(announced.Gateways) != before+3 {
		t.Errorf("announced %v, %v", announced.Gateways, err)
	}
	if _, err := stack.AddGateways(ctx, maxProcesses); err == nil {
		t.Error("more than a stack may have")
	}
}
