package pricing

import "sluice/shared/coupon"

// numbers gives each name a number, in the order in which they come.
type numbers map[string]int

func (n numbers) of(name string) int {
	number, known := n[name]
	if !known {
		number = len(n)
		n[name] = number
	}
	return number
}

// in is the names that are listed, in scratch; nil, for an empty list, means any.
func (n numbers) in(list []string, scratch bitset) bitset {
	if len(list) == 0 {
		return nil
	}
	clear(scratch)
	n.addAll(list, scratch)
	return scratch
}

func (n numbers) addAll(list []string, to bitset) {
	for _, name := range list {
		if number, known := n[name]; known {
			to.add(number)
		}
	}
}

func (s bitset) hasOrAny(i int) bool { return s == nil || s.has(i) }

// places says where the cart's lines and parcels belong, by numbers: so a coupon's
// lists are read once, not once a line.
type places struct {
	merchants, skus, categories numbers
	lines                       []place
	parcels                     []int // merchants
	scratch                     [3]bitset
}

type place struct{ merchant, sku, category int }

func placesOf(lines []Line, parcels []Parcel) *places {
	p := &places{merchants: numbers{}, skus: numbers{}, categories: numbers{}}
	p.lines = make([]place, len(lines))
	for i := range lines {
		l := &lines[i]
		p.lines[i] = place{p.merchants.of(l.Merchant), p.skus.of(l.SKU), p.categories.of(l.Category)}
	}
	p.parcels = make([]int, len(parcels))
	for i := range parcels {
		p.parcels[i] = p.merchants.of(parcels[i].Merchant)
	}
	for i, n := range []numbers{p.merchants, p.skus, p.categories} {
		p.scratch[i] = newBitset(len(n))
	}
	return p
}

// linesIn adds the lines that match all three lists.
func (p *places) linesIn(scope *coupon.Scope, to bitset) {
	merchants := p.merchants.in(scope.Merchants, p.scratch[0])
	skus := p.skus.in(scope.SKUs, p.scratch[1])
	categories := p.categories.in(scope.Categories, p.scratch[2])
	for i, l := range p.lines {
		if merchants.hasOrAny(l.merchant) && skus.hasOrAny(l.sku) && categories.hasOrAny(l.category) {
			to.add(i)
		}
	}
}

// parcelsIn adds the parcels of the scope's merchants: SKUs and categories say nothing of parcels.
func (p *places) parcelsIn(scope *coupon.Scope, to bitset) {
	merchants := p.merchants.in(scope.Merchants, p.scratch[0])
	for i, merchant := range p.parcels {
		if merchants.hasOrAny(merchant) {
			to.add(i)
		}
	}
}
