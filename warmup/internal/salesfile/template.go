package salesfile

import (
	"errors"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// maxName bounds the texts of a template, in characters.
const maxName = 128

func readTemplates(v value) ([]coupon.Rule, error) {
	items, err := v.list()
	if err != nil {
		return nil, err
	}
	templates := make([]coupon.Rule, len(items))
	first := map[string]string{} // path by id
	for i, item := range items {
		if templates[i], err = readTemplate(item); err != nil {
			return nil, err
		}
		id := templates[i].ID
		if other, taken := first[id]; taken {
			return nil, item.errorf("id %q is that of %s too", id, other)
		}
		first[id] = item.path
	}
	return templates, nil
}

func readTemplate(v value) (coupon.Rule, error) {
	fields, err := v.fields()
	if err != nil {
		return coupon.Rule{}, err
	}
	r := coupon.Rule{Terms: coupon.DefaultTerms()}
	given := map[string]bool{}
	for _, f := range fields {
		if err := readRuleField(&r, f); err != nil {
			return coupon.Rule{}, err
		}
		given[f.name] = true
	}
	for _, needed := range []string{"id", "kind", "total"} {
		if !given[needed] {
			return coupon.Rule{}, value{v.join(needed), v.node}.errorf("is missing")
		}
	}
	err = r.Validate()
	var wrong *coupon.TermsError
	switch {
	case errors.As(err, &wrong):
		return coupon.Rule{}, v.at(wrong.Field).errorf("%s", wrong.Detail)
	case err != nil:
		return coupon.Rule{}, v.errorf("%v", err)
	}
	return r, nil
}

func readRuleField(r *coupon.Rule, f field) (err error) {
	switch f.name {
	case "id":
		r.ID, err = f.templateID()
	case "kind":
		var kind string
		kind, err = f.text(maxName)
		r.Kind = coupon.Kind(kind)
	case "value":
		r.Value, err = f.integer(0, coupon.MaxMinor)
	case "min_amount":
		r.MinAmountCents, err = f.integer(0, coupon.MaxMinor)
	case "cap":
		r.CapMinor, err = f.integer(0, coupon.MaxMinor)
	case "total":
		r.Total, err = f.integer(0, coupon.MaxTotal)
	case "currency":
		r.Currency, err = f.currency()
	case "starts_at":
		r.StartsAt, err = f.time()
	case "ends_at":
		r.EndsAt, err = f.time()
	default:
		err = readTerm(&r.Terms, f)
	}
	return err
}

// readTerm reads a key that says how a coupon goes together with others, and who pays.
func readTerm(t *coupon.Terms, f field) (err error) {
	switch f.name {
	case "scope":
		t.Scope, err = f.scope()
	case "layer":
		var layer string
		layer, err = f.text(maxName)
		t.Layer = coupon.Layer(layer)
	case "group":
		t.Group, err = f.mayBeEmpty(maxName)
	case "stack_with":
		t.StackWith, err = f.names()
	case "bearers":
		t.Bearers, err = f.bearers()
	case "return_on_full_refund":
		t.ReturnOnFullRefund, err = f.boolean()
	case "if_gone_after_payment":
		var policy string
		policy, err = f.text(maxName)
		t.IfGone = coupon.IfGone(policy)
	default:
		err = f.errorf("unknown key; known are id, kind, value, min_amount, cap, total, currency, scope, layer, group, stack_with, " +
			"starts_at, ends_at, bearers, return_on_full_refund, if_gone_after_payment")
	}
	return err
}

func (v value) scope() (coupon.Scope, error) {
	s := coupon.DefaultTerms().Scope
	fields, err := v.fields()
	if err != nil {
		return s, err
	}
	for _, f := range fields {
		switch f.name {
		case "merchants":
			s.Merchants, err = f.names()
		case "skus":
			s.SKUs, err = f.names()
		case "categories":
			s.Categories, err = f.names()
		default:
			err = f.errorf("unknown key; known are merchants, skus, categories")
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func (v value) bearers() ([]coupon.Bearer, error) {
	items, err := v.list()
	if err != nil {
		return nil, err
	}
	bearers := make([]coupon.Bearer, len(items))
	for i, item := range items {
		if bearers[i], err = item.bearer(); err != nil {
			return nil, err
		}
	}
	return bearers, nil
}

func (v value) bearer() (b coupon.Bearer, err error) {
	fields, err := v.fields()
	if err != nil {
		return b, err
	}
	given := map[string]bool{}
	for _, f := range fields {
		switch given[f.name] = true; f.name {
		case "party":
			b.Party, err = f.text(maxName)
		case "bps":
			b.BPS, err = f.integer(1, coupon.FullBPS)
		default:
			err = f.errorf("unknown key; known are party, bps")
		}
		if err != nil {
			return b, err
		}
	}
	for _, needed := range []string{"party", "bps"} {
		if !given[needed] {
			return b, value{v.join(needed), v.node}.errorf("is missing")
		}
	}
	return b, nil
}

// names reads a list of texts; that none is there twice is for coupon.Terms.
func (v value) names() ([]string, error) {
	items, err := v.list()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for i, item := range items {
		if names[i], err = item.text(maxName); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (v value) templateID() (string, error) {
	id, err := v.text(maxTitle)
	if err != nil {
		return "", err
	}
	if err := sale.ValidateTemplateID(id); err != nil {
		return "", v.errorf("%v", err)
	}
	return id, nil
}
