package adminapi

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// maxBody is how long a body may be, in bytes.
const maxBody = 8 << 10

// Sizes of a page.
const (
	defaultPage = 50
	maxPage     = 200
)

func (c call) body() ([]byte, *problem) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &tooLarge
	case err != nil:
		return nil, invalidRequest("body", "The body could not be read to its end.")
	}
	return body, nil
}

// emptyBody reads a body that must be empty or {}.
func (c call) emptyBody() *problem {
	body, bad := c.body()
	if bad != nil {
		return bad
	}
	if field, err := strictjson.EmptyObject(body, "this call has no fields"); err != nil {
		return invalidRequest(field, err.Error())
	}
	return nil
}

// query reads the parameters of a query, each at most once, and refuses others.
func (c call) query(known ...string) (map[string]string, *problem) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, invalidRequest("query", "The query cannot be read.")
	}
	found := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			return nil, invalidRequest("query", fmt.Sprintf("The query may have %v.", known))
		}
		if len(values[name]) > 1 {
			return nil, invalidRequest(name, "The query has this parameter twice.")
		}
		found[name] = values[name][0]
	}
	return found, nil
}

// page reads limit and before, which query let through.
func page(query map[string]string) (sale.Page, *problem) {
	p := sale.Page{Limit: defaultPage}
	if text, ok := query["limit"]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return p, invalidRequest("limit", fmt.Sprintf("limit must be 1 to %d.", maxPage))
		}
		p.Limit = n
	}
	if text, ok := query["before"]; ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return p, invalidRequest("before", "before must be the next of another page.")
		}
		p.Before = n
	}
	return p, nil
}

// saleOf reads the sale that a list is about; "" for all.
func saleOf(query map[string]string) (string, *problem) {
	id, ok := query["sale"]
	if ok && sale.ValidateID(id) != nil {
		return "", invalidRequest("sale", "sale must be the id of a sale.")
	}
	return id, nil
}

// next is where the page behind this one begins, null behind the last.
func next[T any](rows []T, p sale.Page, id func(T) int64) *int64 {
	if len(rows) < p.Limit {
		return nil
	}
	last := id(rows[len(rows)-1])
	return &last
}

// each converts the rows of a list.
func each[A, B any](rows []A, body func(A) B) []B {
	list := make([]B, len(rows))
	for i, row := range rows {
		list[i] = body(row)
	}
	return list
}
