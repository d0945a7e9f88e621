package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// alternative is one of the named schemas that a body may be of.
type alternative struct {
	name   string
	schema *openapi3.Schema
}

// alternatives are the schemas of a oneOf, else the schema itself.
func alternatives(ref *openapi3.SchemaRef) []alternative {
	refs := openapi3.SchemaRefs{ref}
	if ref.Ref == "" && len(ref.Value.OneOf) > 0 {
		refs = ref.Value.OneOf
	}
	all := make([]alternative, len(refs))
	for i, one := range refs {
		all[i] = alternative{strings.TrimPrefix(one.Ref, schemaPrefix), one.Value}
	}
	return all
}

// cases are what must be seen of an alternative: a member whose values are listed
// one by one, as oneOf constants, must be seen with each.
func (a alternative) cases() []string {
	for _, member := range slices.Sorted(maps.Keys(a.schema.Properties)) {
		var all []string
		for _, value := range a.schema.Properties[member].Value.OneOf {
			if value.Value.Const != nil {
				all = append(all, fmt.Sprintf("%s %s=%v", a.name, member, value.Value.Const))
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return []string{a.name}
}

// caseOf is which of the cases a body that is valid is.
func (a alternative) caseOf(body []byte) string {
	all := a.cases()
	if len(all) == 1 {
		return all[0]
	}
	var members map[string]any
	_ = json.Unmarshal(body, &members) // it is valid
	for _, one := range all {
		for member, value := range members {
			if one == fmt.Sprintf("%s %s=%v", a.name, member, value) {
				return one
			}
		}
	}
	return a.name
}

func caseKey(where string, status int, name string) string {
	return fmt.Sprint(where, " ", status, " ", name)
}

// expectAll enters every documented case as not seen.
func (d *Document) expectAll() {
	for template, methods := range d.operations {
		for method, documented := range methods {
			d.expect(method+" "+template, documented)
		}
	}
	for extension, documented := range d.outside {
		d.expect(extension, documented)
	}
}

func (d *Document) expect(where string, documented responses) {
	for status, response := range documented {
		if len(response.Content) == 0 {
			d.seen[caseKey(where, status, "")] = false
		}
		for _, media := range response.Content {
			for _, a := range alternatives(media.Schema) {
				for _, one := range a.cases() {
					d.seen[caseKey(where, status, one)] = false
				}
			}
		}
	}
}

// note marks a case as seen; an answer to HEAD does not show which it is.
func (d *Document) note(where string, status int, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key := caseKey(where, status, name); !d.seen[key] {
		if _, documented := d.seen[key]; documented {
			d.seen[key] = true
		}
	}
}

// Missing lists the documented cases that no test has seen, sorted.
func (d *Document) Missing() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var missing []string
	for key, seen := range d.seen {
		if !seen {
			missing = append(missing, key)
		}
	}
	slices.Sort(missing)
	return missing
}
