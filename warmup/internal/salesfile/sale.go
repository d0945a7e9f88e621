package salesfile

import (
	"regexp"
	"time"

	"sluice/shared/sale"
)

// Limits of the fields that the vocabulary itself does not bound.
const (
	maxTitle      = 200
	maxSKU        = 128
	maxPriceMinor = 1_000_000_000_000
	minHold       = time.Second
	maxHold       = 720 * time.Hour
)

// defaults are what a sale has where the file is silent.
func defaults() sale.Sale {
	return sale.Sale{
		Kind: sale.KindGoods, Currency: "CNY", PerUserLimit: 1, Hold: 15 * time.Minute,
		Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}
}

func readSale(v value, allowList func(name string) ([]string, error)) (Sale, error) {
	fields, err := v.fields()
	if err != nil {
		return Sale{}, err
	}
	s := Sale{Sale: defaults()}
	given := map[string]bool{}
	for _, f := range fields {
		if err := readField(&s, f, allowList); err != nil {
			return Sale{}, err
		}
		given[f.name] = true
	}
	if err := completeKind(&s, v, given); err != nil {
		return Sale{}, err
	}
	for _, needed := range []string{"id", "total", "price", "opens_at", "closes_at"} {
		if !given[needed] {
			return Sale{}, value{v.join(needed), v.node}.errorf("is missing")
		}
	}
	if !s.OpensAt.Before(s.ClosesAt) {
		return Sale{}, value{v.join("closes_at"), v.node}.errorf("must be after opens_at")
	}
	if s.Title == "" {
		s.Title = s.ID
	}
	if s.SKU == "" {
		s.SKU = s.ID
	}
	return s, nil
}

func readField(s *Sale, f field, allowList func(name string) ([]string, error)) (err error) {
	switch f.name {
	case "id":
		s.ID, err = f.saleID()
	case "kind":
		s.Kind, err = f.saleKind()
	case "title":
		err = readTitle(s, f.value)
	case "sku":
		s.SKU, err = f.text(maxSKU)
	case "total":
		s.Total, err = f.integer(0, sale.MaxTotal)
	case "price":
		s.PriceMinor, err = f.integer(0, maxPriceMinor)
	case "currency":
		s.Currency, err = f.currency()
	case "per_user_limit":
		s.PerUserLimit, err = f.small(sale.MaxPerUserLimit)
	case "opens_at":
		s.OpensAt, err = f.time()
	case "closes_at":
		s.ClosesAt, err = f.time()
	case "hold":
		s.Hold, err = f.duration(minHold, maxHold)
	case "mode":
		s.Mode, err = f.mode()
	case "rebuy_after_release":
		s.RebuyAfterRelease, err = f.boolean()
	case "weight":
		s.Weight, err = f.small(sale.MaxWeight)
	case "eligibility":
		err = readEligibility(s, f.value, allowList)
	case "template":
		s.Template, err = f.templateID()
	default:
		err = f.errorf("unknown key; known are id, kind, title, sku, template, total, price, currency, per_user_limit, opens_at, closes_at, hold, " +
			"mode, rebuy_after_release, weight, eligibility")
	}
	return err
}

func (v value) saleKind() (sale.Kind, error) {
	kind, err := v.text(maxTitle)
	if err == nil && kind != string(sale.KindGoods) && kind != string(sale.KindCoupon) {
		err = v.errorf("must be goods or coupon, is %s", v.is())
	}
	return sale.Kind(kind), err
}

func (v value) mode() (sale.Mode, error) {
	mode, err := v.text(maxTitle)
	if err == nil && mode != string(sale.ModeQueued) && mode != string(sale.ModeInstant) {
		err = v.errorf("must be queued or instant, is %s", v.is())
	}
	return sale.Mode(mode), err
}

func (v value) saleID() (string, error) {
	id, err := v.text(maxTitle)
	if err != nil {
		return "", err
	}
	if err := sale.ValidateID(id); err != nil {
		return "", v.errorf("%v", err)
	}
	return id, nil
}

func (v value) currency() (string, error) {
	text, err := v.text(maxTitle)
	if err != nil {
		return "", err
	}
	if !regexp.MustCompile(`^[A-Z]{3}$`).MatchString(text) {
		return "", v.errorf("must be three capital letters such as CNY, is %s", v.is())
	}
	return text, nil
}

func (v value) small(highest int64) (int, error) {
	n, err := v.integer(1, highest)
	return int(n), err
}
