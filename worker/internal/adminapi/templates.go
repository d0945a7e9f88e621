package adminapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// templates are the rules by which coupons are given out. Changes are recorded with who
// made them.
type templates interface {
	Templates(ctx context.Context) ([]coupon.Standing, error)
	// CreateTemplate makes a template; created is false when it is there with the same
	// rule, ErrTemplateExists when it is there with another one.
	CreateTemplate(ctx context.Context, by sale.Actor, r coupon.Rule) (t coupon.Standing, created bool, err error)
	// CopyTemplate makes one with the rule of another, and the same total if that is nil.
	CopyTemplate(ctx context.Context, by sale.Actor, from, id string, total *int64) (t coupon.Standing, created bool, err error)
	// TakeOffShelf pauses the template's sale too.
	TakeOffShelf(ctx context.Context, by sale.Actor, id string) (coupon.Standing, error)
}

// ruleBody is a template as the sales file has it.
type ruleBody struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Value     int64  `json:"value"`
	MinAmount int64  `json:"min_amount"` // minor units of the currency
	Total     int64  `json:"total"`
	coupon.Terms
}

// templateBody is a template as it stands.
type templateBody struct {
	ruleBody
	Issued     int64      `json:"issued"`
	CopiedFrom *string    `json:"copied_from"`  // null for none
	OffShelfAt *time.Time `json:"off_shelf_at"` // null while it is on the shelf
	Sale       *string    `json:"sale"`         // that gives it out, null for none
	CreatedAt  time.Time  `json:"created_at"`
	ChangedAt  time.Time  `json:"changed_at"`
}

func templateBodyOf(t coupon.Standing) templateBody {
	body := templateBody{
		ruleBody: ruleBody{ID: t.ID, Kind: string(t.Kind), Value: t.Value, MinAmount: t.MinAmountCents, Total: t.Total, Terms: t.Terms},
		Issued:   t.Issued, CreatedAt: t.CreatedAt, ChangedAt: t.ChangedAt,
	}
	if t.CopiedFrom != "" {
		body.CopiedFrom = &t.CopiedFrom
	}
	if t.SaleID != "" {
		body.Sale = &t.SaleID
	}
	if t.OffShelf() {
		body.OffShelfAt = &t.OffShelfAt
	}
	return body
}

// templates lists the templates, or creates one.
func (a *API) templates(ctx context.Context, c call) {
	if c.r.Method == http.MethodPost {
		a.createTemplate(ctx, c)
		return
	}
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	list, err := c.Templates.Templates(ctx)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, struct {
		Templates []templateBody `json:"templates"`
	}{each(list, templateBodyOf)})
}

// createTemplate is POST /admin/v1/templates. Whoever lost the answer repeats the call.
func (a *API) createTemplate(ctx context.Context, c call) {
	body, bad := c.body()
	var r coupon.Rule
	if bad == nil {
		r, bad = readRule(body)
	}
	if bad != nil {
		bad.write(c.w)
		return
	}
	t, created, err := c.Templates.CreateTemplate(ctx, c.by, r)
	a.answerTemplate(c, t, created, err)
}

// copyBody asks for a copy; without a total it has as many coupons as the template.
type copyBody struct {
	ID    string `json:"id"`
	Total *int64 `json:"total"`
}

// copyTemplate is POST …/copy: a template is given out by one sale, the next one gets a copy.
func (a *API) copyTemplate(ctx context.Context, c call) {
	body, bad := c.body()
	var asked copyBody
	if bad == nil {
		asked, bad = readCopy(body)
	}
	from, badFrom := c.template()
	if bad := first(bad, badFrom); bad != nil {
		bad.write(c.w)
		return
	}
	t, created, err := c.Templates.CopyTemplate(ctx, c.by, from, asked.ID, asked.Total)
	a.answerTemplate(c, t, created, err)
}

func readCopy(body []byte) (asked copyBody, bad *problem) {
	if field, err := strictjson.Decode(body, &asked, "id"); err != nil {
		return asked, invalidRequest(field, err.Error())
	}
	if err := sale.ValidateTemplateID(asked.ID); err != nil {
		return asked, invalidRequest("id", err.Error())
	}
	if asked.Total != nil && (*asked.Total < 0 || *asked.Total > coupon.MaxTotal) {
		return asked, invalidRequest("total", "total must be 0 to 100000000 coupons.")
	}
	return asked, nil
}

// takeOffShelf pauses the template's sale; Redis and the gateways follow within a second.
func (a *API) takeOffShelf(ctx context.Context, c call) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	id, bad := c.template()
	if bad != nil {
		bad.write(c.w)
		return
	}
	t, err := c.Templates.TakeOffShelf(ctx, c.by, id)
	a.answerTemplate(c, t, false, err)
}

// template is the id in the path.
func (c call) template() (string, *problem) {
	id := c.r.PathValue("id")
	if sale.ValidateTemplateID(id) != nil {
		return "", &noSuchTemplate
	}
	return id, nil
}

func (a *API) answerTemplate(c call, t coupon.Standing, created bool, err error) {
	if err != nil {
		a.fail(c, err)
		return
	}
	a.log.Info("template changed by an operator", "template", t.ID, "call", c.r.URL.Path, "operator", c.by.Operator, "sale", t.SaleID)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	c.answer(status, templateBodyOf(t))
}

// readRule reads a template; what is left out is as in the sales file.
func readRule(body []byte) (coupon.Rule, *problem) {
	asked := ruleBody{Terms: coupon.DefaultTerms()}
	if field, err := strictjson.Decode(body, &asked, "id", "kind", "total"); err != nil {
		return coupon.Rule{}, invalidRequest(field, err.Error())
	}
	r := coupon.Rule{
		Template: coupon.Template{ID: asked.ID, Kind: coupon.Kind(asked.Kind), Value: asked.Value, MinAmountCents: asked.MinAmount, Total: asked.Total},
		Terms:    asked.Terms,
	}
	if err := sale.ValidateTemplateID(r.ID); err != nil {
		return r, invalidRequest("id", err.Error())
	}
	err := r.Validate()
	var wrong *coupon.TermsError
	switch {
	case errors.As(err, &wrong):
		return r, invalidRequest(wrong.Field, wrong.Error())
	case err != nil:
		return r, invalidRequest("body", err.Error())
	}
	return r, nil
}
