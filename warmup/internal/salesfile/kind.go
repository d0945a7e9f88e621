package salesfile

import (
	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// ofGoods says why a key is refused in a sale of coupons.
var ofGoods = map[string]string{
	"sku":                 "is not for kind coupon: the order system knows it by its template",
	"hold":                "is not for kind coupon: a claim is never unpaid",
	"rebuy_after_release": "is not for kind coupon: a claim is never released",
}

// completeKind refuses what does not fit the kind of the sale, and sets what it brings.
func completeKind(s *Sale, v value, given map[string]bool) error {
	if s.Kind == sale.KindGoods {
		switch {
		case given["template"]:
			return v.at("template").errorf("is for kind coupon alone")
		case given["price"] && s.PriceMinor == 0:
			return v.at("price").errorf("must be 1..%d, is 0", int64(maxPriceMinor))
		}
		return nil
	}
	for _, name := range []string{"sku", "hold", "rebuy_after_release"} {
		if given[name] {
			return v.at(name).errorf("%s", ofGoods[name])
		}
	}
	switch {
	case s.PriceMinor != 0:
		return v.at("price").errorf("must be left out or 0 for kind coupon: a claim costs nothing")
	case !given["template"]:
		return value{v.join("template"), v.node}.errorf("is missing: kind coupon gives out the coupons of a template")
	case !given["currency"]:
		s.Currency = ""
	}
	given["price"] = true
	s.SKU, s.Hold = s.Template, 0
	return nil
}

// matchTemplates holds sales of coupons to those of their templates that are in the file.
// The others may be in Postgres.
func matchTemplates(sales value, f File) error {
	if len(f.Sales) == 0 {
		return nil
	}
	items, err := sales.list()
	if err != nil {
		return err
	}
	templates := make(map[string]coupon.Rule, len(f.Templates))
	for _, t := range f.Templates {
		templates[t.ID] = t
	}
	givenBy := map[string]string{} // path of the sale by template
	for i, s := range f.Sales {
		if s.Kind != sale.KindCoupon {
			continue
		}
		if other, taken := givenBy[s.Template]; taken {
			return items[i].at("template").errorf("%s is that of %s too, and a template is given out by one sale at most: copy it under another id", s.Template, other)
		}
		givenBy[s.Template] = items[i].path
		t, known := templates[s.Template]
		switch {
		case known && s.Total > t.Total:
			return items[i].at("total").errorf("must be at most the total of template %s, %d, is %d", t.ID, t.Total, s.Total)
		case known && s.Currency != "" && s.Currency != t.Currency:
			return items[i].at("currency").errorf("must be left out or that of template %s, %s, is %s", t.ID, t.Currency, s.Currency)
		}
	}
	return nil
}
