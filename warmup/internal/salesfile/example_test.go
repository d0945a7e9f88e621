package salesfile_test

import (
	"testing"

	"sluice/shared/sale"
	"sluice/warmup/internal/salesfile"
)

// What `make up` runs, and docs/sales-file.md points to.
func TestRead_TheExampleHasSalesOfBothKinds(t *testing.T) {
	t.Parallel()
	file, err := salesfile.Read("../../../docs/sales.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[sale.Kind]int{}
	for _, s := range file.Sales {
		kinds[s.Kind]++
	}
	if kinds[sale.KindGoods] == 0 || kinds[sale.KindCoupon] == 0 || len(file.Templates) == 0 {
		t.Errorf("the example has %v, %d templates", kinds, len(file.Templates))
	}
}
