package salesfile

import (
	"slices"
	"time"
)

// Limits of an eligibility.
const (
	maxAccountAge = 100 * 365 * 24 * time.Hour
	maxPaidOrders = 1_000_000_000
	maxTags       = 32
	maxTag        = 64
	maxPath       = 4096
)

func readEligibility(s *Sale, v value, allowList func(name string) ([]string, error)) error {
	fields, err := v.fields()
	if err != nil {
		return err
	}
	e := &s.Eligibility
	for _, f := range fields {
		switch f.name {
		case "min_account_age":
			e.MinAccountAge, err = f.duration(0, maxAccountAge)
		case "min_paid_orders":
			e.MinPaidOrders, err = f.integer(0, maxPaidOrders)
		case "tags":
			e.Tags, err = f.tags()
		case "allow_list":
			s.AllowList, err = f.allowed(allowList)
			e.HasAllowList = true
		default:
			err = f.errorf("unknown key")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v value) tags() ([]string, error) {
	items, err := v.list()
	if err != nil {
		return nil, err
	}
	if len(items) > maxTags {
		return nil, v.errorf("must be at most %d tags, are %d", maxTags, len(items))
	}
	var tags []string
	for _, item := range items {
		tag, err := item.text(maxTag)
		if err != nil {
			return nil, err
		}
		if slices.Contains(tags, tag) {
			return nil, item.errorf("%s is there twice", item.is())
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func (v value) allowed(allowList func(name string) ([]string, error)) ([]string, error) {
	name, err := v.text(maxPath)
	if err != nil {
		return nil, err
	}
	users, err := allowList(name)
	if err != nil {
		return nil, v.errorf("%v", err)
	}
	return users, nil
}
