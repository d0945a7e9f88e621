package openapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	unmatched  = "x-unmatched-request"
	unreadable = "x-unreadable-request"
)

// Document is a service's OpenAPI document with what was seen of it. It is safe
// for concurrent use.
type Document struct {
	schemas    *schemas
	operations map[string]map[string]responses // by path template, then method
	outside    map[string]responses            // by extension
	mu         sync.Mutex
	seen       map[string]bool // by case; every documented case has an entry
}

type responses map[int]*openapi3.Response

// Load reads and checks the document, its examples included.
func Load(file string) (*Document, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	d, err := of(doc)
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", file, err)
	}
	return d, nil
}

func of(doc *openapi3.T) (d *Document, err error) {
	if !doc.IsOpenAPI31OrLater() {
		return nil, fmt.Errorf("it is OpenAPI %s, not 3.1", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableSchemaPatternValidation()); err != nil {
		return nil, fmt.Errorf("it is not valid: %w", err)
	}
	if err := checkNames(doc); err != nil {
		return nil, err
	}
	d = &Document{operations: map[string]map[string]responses{}, outside: map[string]responses{}, seen: map[string]bool{}}
	if d.schemas, err = compile(doc); err != nil {
		return nil, err
	}
	if err := d.schemas.checkExamples(doc); err != nil {
		return nil, err
	}
	for template, item := range doc.Paths.Map() {
		d.operations[template] = map[string]responses{}
		for method, operation := range item.Operations() {
			if d.operations[template][method], err = byStatus(operation.Responses.Map()); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, template, err)
			}
		}
	}
	for _, extension := range []string{unmatched, unreadable} {
		if d.outside[extension], err = named(doc, extension); err != nil {
			return nil, err
		}
	}
	d.expectAll()
	return d, nil
}

func byStatus(documented map[string]*openapi3.ResponseRef) (responses, error) {
	found := responses{}
	for text, ref := range documented {
		status, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("response %q is not of one status", text)
		}
		found[status] = ref.Value
	}
	return found, nil
}

// named resolves the responses that an extension names.
func named(doc *openapi3.T, extension string) (responses, error) {
	raw, err := json.Marshal(doc.Extensions[extension])
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", extension, err)
	}
	var names map[string]string
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", extension, err)
	}
	refs := map[string]*openapi3.ResponseRef{}
	for status, name := range names {
		ref, ok := doc.Components.Responses[name]
		if !ok {
			return nil, fmt.Errorf("%s names the response %q, which components lack", extension, name)
		}
		refs[status] = ref
	}
	return byStatus(refs)
}

// match finds the path that a request is of, "" when the document has none.
func (d *Document) match(requested string) (template string) {
	if strings.ContainsAny(requested, "%#") || path.Clean(requested) != requested {
		return ""
	}
	for template := range d.operations {
		if fits(template, requested) {
			return template
		}
	}
	return ""
}

func fits(template, requested string) bool {
	want, got := strings.Split(template, "/"), strings.Split(requested, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || g != "" && strings.HasPrefix(w, "{") })
}
