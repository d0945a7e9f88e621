package mix

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Bounds.
const (
	mostUsers  = 1_000_000_000
	mostWeight = 1_000_000
	mostSales  = 1000
	mostUnits  = 100_000_000
	mostLimit  = 20
)

var saleID = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// Check says what is wrong with a mix, by the path of its field.
func (m Mix) Check() error {
	p := m.Attempts
	for _, f := range []struct {
		field               string
		value, lowest, most int64
	}{
		{"users", m.Users, 1, mostUsers},
		{"attempts.sold_out", p.SoldOut, 0, mostWeight},
		{"attempts.buyers", p.Buyers, 0, mostWeight},
		{"attempts.repeats", p.Repeats, 0, mostWeight},
		{"attempts.keyed_repeats", p.KeyedRepeats, 0, mostWeight},
		{"attempts.early", p.Early, 0, mostWeight},
		{"hot_percent", m.HotPercent, 0, 100},
		{"repeat_within", m.RepeatWithin, 1, mostWeight},
		{"follow_percent", m.FollowPercent, 0, 100},
		{"polling_percent", m.PollingPercent, 0, 100},
	} {
		if f.value < f.lowest || f.value > f.most {
			return fmt.Errorf("%s must be %d to %d, is %d", f.field, f.lowest, f.most, f.value)
		}
	}
	if err := m.checkSales(); err != nil {
		return err
	}
	return m.checkRoles()
}

func (m Mix) checkSales() error {
	seen, all := make(map[string]bool), 0
	for i, s := range m.Sales {
		at := fmt.Sprintf("sales[%d]", i)
		switch {
		case !saleID.MatchString(s.ID):
			return fmt.Errorf("%s.id must be 1 to 64 of a-z, 0-9 and -, is %q", at, s.ID)
		case !slices.Contains([]Role{Hot, Open, SoldOut, Early}, s.Role):
			return fmt.Errorf("%s.role must be hot, open, sold_out or early, is %q", at, s.Role)
		case s.Count < 1 || s.Count > mostSales:
			return fmt.Errorf("%s.count must be 1 to %d, is %d", at, mostSales, s.Count)
		case s.Units < 1 || s.Units > mostUnits:
			return fmt.Errorf("%s.units must be 1 to %d, is %d", at, mostUnits, s.Units)
		case s.PerUserLimit < 1 || s.PerUserLimit > mostLimit:
			return fmt.Errorf("%s.per_user_limit must be 1 to %d, is %d", at, mostLimit, s.PerUserLimit)
		}
		all += int(s.Count)
	}
	if all < 1 || all > mostSales {
		return fmt.Errorf("sales must be 1 to %d, with count, are %d", mostSales, all)
	}
	for _, s := range m.Expanded() {
		switch {
		case !saleID.MatchString(s.ID):
			return fmt.Errorf("sales: id %q, with its number, has more than 64 characters", s.ID)
		case seen[s.ID]:
			return fmt.Errorf("sales: id %q is there twice", s.ID)
		}
		seen[s.ID] = true
	}
	return nil
}

// checkRoles finds attempts that have no sale.
func (m Mix) checkRoles() error {
	has := func(roles ...Role) bool {
		return slices.ContainsFunc(m.Sales, func(s Sale) bool { return slices.Contains(roles, s.Role) })
	}
	p := m.Attempts
	switch {
	case p.SoldOut+p.Buyers+p.Repeats+p.KeyedRepeats+p.Early == 0:
		return errors.New("attempts must have a weight above 0")
	case p.Buyers == 0 && p.Repeats+p.KeyedRepeats > 0:
		return errors.New("attempts.buyers must be above 0: without first attempts, repeats and keyed_repeats have nothing to repeat")
	case p.SoldOut > 0 && !has(SoldOut):
		return errors.New("attempts.sold_out must be 0: sales has none with role sold_out")
	case p.Early > 0 && !has(Early):
		return errors.New("attempts.early must be 0: sales has none with role early")
	case p.Buyers+p.Repeats+p.KeyedRepeats > 0 && !has(Hot, Open):
		return errors.New("attempts.buyers, repeats and keyed_repeats must be 0: sales has none with role hot or open")
	}
	return nil
}
