package coupon

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// MaxBearers bounds the parties of a coupon: each has a share of every line of a cart.
const MaxBearers = 20

// maxNameRunes bounds the names that terms hold: of parties, groups, merchants.
const maxNameRunes = 128

// maxQuoted bounds what errors repeat of the input.
const maxQuoted = 64 // characters

// fewNames are compared one by one: that is faster than a set.
const fewNames = 32

// TermsError says what is wrong with terms.
type TermsError struct {
	Field  string // as a sales file spells it, such as bearers[1].bps
	Detail string // what it must be, and what it is
}

func (e *TermsError) Error() string { return e.Field + ": " + e.Detail }

func wrong(field, format string, args ...any) error {
	return &TermsError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Validate says whether terms agree with themselves and with a coupon's kind. Its error
// is a *TermsError, of the first field that is wrong.
func (t Terms) Validate(kind Kind) error {
	if err := validCap(t.CapMinor, kind); err != nil {
		return err
	}
	if err := t.Scope.validate(); err != nil {
		return err
	}
	if err := t.validStacking(); err != nil {
		return err
	}
	if err := validBearers(t.Bearers); err != nil {
		return err
	}
	if err := validCurrency(t.Currency); err != nil {
		return err
	}
	return t.validTimes()
}

func validCap(capMinor int64, kind Kind) error {
	switch {
	case capMinor < 0:
		return wrong("cap", "must be at least 0, is %d", capMinor)
	case capMinor > 0 && kind == KindAmount:
		return wrong("cap", "must be 0 for kind amount, is %d", capMinor)
	}
	return nil
}

func (s Scope) validate() error {
	if err := validList("scope.merchants", s.Merchants); err != nil {
		return err
	}
	if err := validList("scope.skus", s.SKUs); err != nil {
		return err
	}
	return validList("scope.categories", s.Categories)
}

func (t Terms) validStacking() error {
	if t.Layer != LayerMerchant && t.Layer != LayerPlatform {
		return wrong("layer", "must be merchant or platform, is %s", quoted(t.Layer))
	}
	if t.Group != "" && !validName(t.Group) {
		return badName("group", t.Group)
	}
	return validNames("stack_with", t.StackWith) // one that is there twice says no more
}

// validBearers lets a party bear several parts: what it bears is their sum.
func validBearers(bearers []Bearer) error {
	if len(bearers) > MaxBearers {
		return wrong("bearers", "must be at most %d, are %d", MaxBearers, len(bearers))
	}
	var sum int64
	for i, b := range bearers {
		switch {
		case !validName(b.Party):
			return badName(fmt.Sprintf("bearers[%d].party", i), b.Party)
		case b.BPS < 1 || b.BPS > FullBPS:
			return wrong(fmt.Sprintf("bearers[%d].bps", i), "must be 1..%d, is %d", FullBPS, b.BPS)
		}
		sum += b.BPS
	}
	if sum != FullBPS {
		return wrong("bearers", "the sum of bps must be %d, is %d", FullBPS, sum)
	}
	return nil
}

func validCurrency(currency string) error {
	ok := len(currency) == 3
	for _, r := range currency {
		ok = ok && 'A' <= r && r <= 'Z'
	}
	if !ok {
		return wrong("currency", "must be three capital letters such as CNY, is %s", quoted(currency))
	}
	return nil
}

// validTimes checks the bounds, and what comes after payment.
func (t Terms) validTimes() error {
	if !t.StartsAt.IsZero() && !t.EndsAt.IsZero() && !t.EndsAt.After(t.StartsAt) {
		return wrong("ends_at", "must be after starts_at")
	}
	switch t.IfGone {
	case GoneHonour, GoneTopUp, GoneRefund:
		return nil
	}
	return wrong("if_gone_after_payment", "must be honour, top_up or refund, is %s", quoted(t.IfGone))
}

func validNames(field string, names []string) error {
	for i, name := range names {
		if !validName(name) {
			return badName(fmt.Sprintf("%s[%d]", field, i), name)
		}
	}
	return nil
}

// validList has each name once.
func validList(field string, names []string) error {
	var seen map[string]bool
	if len(names) > fewNames {
		seen = make(map[string]bool, len(names))
	}
	for i, name := range names {
		switch {
		case !validName(name):
			return badName(fmt.Sprintf("%s[%d]", field, i), name)
		case seen[name], seen == nil && slices.Contains(names[:i], name):
			return wrong(fmt.Sprintf("%s[%d]", field, i), "must be there once, %s is there before", quoted(name))
		case seen != nil:
			seen[name] = true
		}
	}
	return nil
}

// validName refuses what no store can hold or no reader can tell from another.
func validName(name string) bool {
	if name == "" || !utf8.ValidString(name) || len(name) > maxNameRunes && utf8.RuneCountInString(name) > maxNameRunes {
		return false
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

func badName(field, name string) error {
	return wrong(field, "must be 1..%d characters without control characters, is %s", maxNameRunes, quoted(name))
}

func quoted[S ~string](text S) string {
	var runes int
	for at := range text {
		if runes == maxQuoted {
			return fmt.Sprintf("%q…", string(text[:at]))
		}
		runes++
	}
	return fmt.Sprintf("%q", string(text))
}
