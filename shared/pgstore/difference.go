package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// FixedSale is what Apply refuses of one sale.
type FixedSale struct {
	SaleID string
	Fields []sale.FixedField
}

// FixedTemplate is what Apply refuses of one template.
type FixedTemplate struct {
	ID     string
	Fields []sale.FixedField
}

// FixedError refuses a change, with every field that stands in its way. It is ErrLoaded.
type FixedError struct {
	Templates []FixedTemplate
	Sales     []FixedSale
}

func (e *FixedError) Error() string {
	var text []string
	for _, t := range e.Templates {
		for _, f := range t.Fields {
			text = append(text, "template "+t.ID+": "+f.String())
		}
	}
	for _, s := range e.Sales {
		for _, f := range s.Fields {
			text = append(text, "sale "+s.SaleID+": "+f.String())
		}
	}
	return "nothing was changed: " + strings.Join(text, "; ")
}

// Unwrap makes it ErrLoaded.
func (e *FixedError) Unwrap() error { return ErrLoaded }

// applying is one sale in the transaction of Apply.
type applying struct {
	tx        pgx.Tx
	config    SaleConfig // canonical
	templates *templating
	created   bool
	list      listChange
}

// oneApplier makes an Apply the only one of the sale $1 until its end, from before it
// writes the allow list.
const oneApplier = `SELECT pg_advisory_xact_lock(hashtextextended('sluice/apply/' || current_schema() || '/' || $1, 0))`

// prepare does what takes long, beside orders and operators.
func (a *applying) prepare(ctx context.Context) (err error) {
	switch c := a.config; {
	case len(c.AllowList) > 0 && !c.Eligibility.HasAllowList:
		return fmt.Errorf("has an allow list that its eligibility does not ask for")
	case len(c.AllowList) == 0 && c.Eligibility.HasAllowList:
		return fmt.Errorf("has an allow list of nobody")
	}
	if _, err := a.tx.Exec(ctx, oneApplier, a.config.ID); err != nil {
		return err
	}
	if err := a.templates.give(ctx, &a.config); err != nil {
		return err
	}
	if a.created, err = insertSale(ctx, a.tx, a.config); err != nil {
		return err
	}
	a.list, err = writeAllowList(ctx, a.tx, a.config.ID, a.config.AllowList)
	return err
}

// finish changes the sale behind its gate, or says why it cannot change.
func (a *applying) finish(ctx context.Context, applied *Applied) (refused []sale.FixedField, err error) {
	*applied = Applied{SaleID: a.config.ID, Change: Unchanged}
	entry, changes, err := a.differences(ctx)
	if err != nil || len(changes) == 0 && !a.created {
		applied.Entry = entry
		return nil, err
	}
	if a.created {
		a.templates.expect(a.config.Template, true)
		applied.Change = Created
		applied.Entry, err = updateCreated(ctx, a.tx, a.config)
		return nil, err
	}
	if _, err := a.tx.Exec(ctx, closeGate, a.config.ID); err != nil {
		return nil, err
	}
	if entry, changes, err = a.differences(ctx); err != nil { // as it is now
		return nil, err
	}
	if refused := entry.Fixed(a.config.Sale, changes); len(refused) > 0 {
		return refused, nil
	}
	a.templates.expect(a.config.Template, entry.Template != a.config.Template)
	newList := entry.Eligibility.HasAllowList != a.config.Eligibility.HasAllowList || a.list.changed()
	if entry, err = updateSale(ctx, a.tx, a.config, newList); err != nil {
		return nil, err
	}
	*applied = Applied{SaleID: a.config.ID, Change: Updated, Fields: changes, Entry: entry}
	return nil, record(ctx, a.tx, sale.Actor{Who: applier}, sale.ActionApply, a.config.ID, "", recorded(changes))
}

// updateCreated numbers the allow list of a sale that was just inserted.
func updateCreated(ctx context.Context, tx pgx.Tx, c SaleConfig) (sale.Entry, error) {
	return oneEntry(ctx, tx, `
		UPDATE sales SET allow_rev = CASE WHEN has_allow_list THEN `+newAllowRev+` ELSE 0 END
		WHERE sale_id = $1 RETURNING `+entryColumns, c.ID)
}

// differences are what c changes of the sale as it was applied last: an operator may have
// closed it since, which entry.ClosedAt says.
func (a *applying) differences(ctx context.Context) (entry sale.Entry, changes []sale.FieldChange, err error) {
	entry, err = oneEntry(ctx, a.tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, a.config.ID)
	if err != nil {
		return entry, nil, err
	}
	configured := entry
	err = a.tx.QueryRow(ctx, `SELECT opens_at, closes_at FROM sales WHERE sale_id = $1`, a.config.ID).Scan(&configured.OpensAt, &configured.ClosesAt)
	if err != nil {
		return entry, nil, err
	}
	for _, c := range sale.Changes(configured.Sale, a.config.Sale) {
		if c.Field != sale.AllowListField {
			changes = append(changes, c)
		}
	}
	if c, differs := a.list.describe(entry.Eligibility.HasAllowList, a.config.Eligibility.HasAllowList); differs {
		changes = append(changes, c)
	}
	return entry, changes, nil
}

func recorded(changes []sale.FieldChange) fields {
	all := make(fields, len(changes))
	for _, c := range changes {
		all[c.Field] = [2]any{c.Before, c.After}
	}
	return all
}
