package openapitest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Exchange is a request and its response, as a test saw them.
type Exchange struct {
	Method string
	Target string // path and query as sent; "" for what is not a request
	Status int
	Header http.Header
	Body   []byte
}

// framing are the headers that every HTTP server writes.
var framing = []string{"Connection", "Content-Length", "Content-Type", "Date", "Server", "Transfer-Encoding"}

// Check notes the response as seen. The error says what is not as documented.
func (d *Document) Check(e Exchange) error {
	requested, _, _ := strings.Cut(e.Target, "?")
	where, documented := d.find(e.Method, requested)
	response := documented[e.Status]
	if response == nil {
		where, response = unreadable, d.outside[unreadable][e.Status]
	}
	if response == nil {
		return fmt.Errorf("%s %s: status %d is not documented: %s", e.Method, e.Target, e.Status, e.Body)
	}
	name, err := d.checkBody(response, e)
	err = errors.Join(d.checkHeaders(response, e.Header), err)
	if where == unmatched && e.Status == http.StatusMethodNotAllowed {
		err = errors.Join(err, d.checkAllow(requested, e.Header.Get("Allow")))
	}
	if err != nil {
		return fmt.Errorf("%s %s: status %d is not as documented: %w\n%s", e.Method, e.Target, e.Status, err, e.Body)
	}
	d.note(where, e.Status, name)
	return nil
}

// find returns the responses that a request may get, and the operation, or the
// extension, that they are of.
func (d *Document) find(method, requested string) (where string, documented responses) {
	if requested == "" {
		return unreadable, d.outside[unreadable]
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	template := d.match(requested)
	if documented, ok := d.operations[template][method]; ok {
		return method + " " + template, documented
	}
	status := http.StatusNotFound
	if template != "" {
		status = http.StatusMethodNotAllowed
	}
	return unmatched, responses{status: d.outside[unmatched][status]}
}

func (d *Document) checkHeaders(response *openapi3.Response, got http.Header) error {
	var errs []error
	documented := slices.Clone(framing)
	for name, ref := range response.Headers {
		documented = append(documented, http.CanonicalHeaderKey(name))
		values := got.Values(name)
		switch {
		case len(values) == 0 && ref.Value.Required:
			errs = append(errs, fmt.Errorf("header %s is missing", name))
		case len(values) > 1:
			errs = append(errs, fmt.Errorf("header %s comes %d times", name, len(values)))
		case len(values) == 1:
			if err := d.schemas.header(ref.Ref, values[0]); err != nil {
				errs = append(errs, fmt.Errorf("header %s is %q: %w", name, values[0], err))
			}
		}
	}
	for name := range got {
		if !slices.Contains(documented, name) {
			errs = append(errs, fmt.Errorf("header %s is not documented", name))
		}
	}
	return errors.Join(errs...)
}

// checkAllow holds the Allow header against the methods that the path has.
func (d *Document) checkAllow(requested, allow string) error {
	var methods []string
	for method := range d.operations[d.match(requested)] {
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	if want := strings.Join(methods, ", "); allow != want {
		return fmt.Errorf("header Allow is %q, documented are %q", allow, want)
	}
	return nil
}

// checkBody returns which case of the response the body is; "" when there is none.
func (d *Document) checkBody(response *openapi3.Response, e Exchange) (name string, err error) {
	if e.Method == http.MethodHead || len(response.Content) == 0 {
		if len(e.Body) > 0 {
			return "", errors.New("it has a body")
		}
		return "", nil
	}
	contentType := e.Header.Get("Content-Type")
	media := response.Content[contentType]
	if media == nil {
		return "", fmt.Errorf("content type %q is not documented", contentType)
	}
	var errs []error
	for _, a := range alternatives(media.Schema) {
		err := d.schemas.body(a.name, contentType, e.Body)
		if err == nil && contentType == eventStream {
			err = d.schemas.events(media, e.Body)
		}
		if err == nil {
			return a.caseOf(e.Body), nil
		}
		errs = append(errs, fmt.Errorf("not %s: %w", a.name, err))
	}
	return "", errors.Join(errs...)
}
