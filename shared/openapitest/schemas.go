package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the document's named ones and its headers', compiled once. kin-openapi
// would do it again for every value, and validates less of JSON Schema 2020.
type schemas struct {
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by pointer into the document
}

const (
	schemaPrefix = "#/components/schemas/"
	headerPrefix = "#/components/headers/"
	resource     = "openapi:document"
)

// compile reads every schema that has a name; format is asserted.
func compile(doc *openapi3.T) (*schemas, error) {
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot encode the document: %w", err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("cannot decode the document: %w", err)
	}
	s := &schemas{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(resource, root); err != nil {
		return nil, fmt.Errorf("cannot use the document's schemas: %w", err)
	}
	var errs []error
	for name := range doc.Components.Schemas {
		errs = append(errs, s.add(schemaPrefix+name, ""))
	}
	for name := range doc.Components.Headers {
		errs = append(errs, s.add(headerPrefix+name, "/schema"))
	}
	return s, errors.Join(errs...)
}

func (s *schemas) add(ref, schema string) (err error) {
	if s.compiled[ref], err = s.compiler.Compile(resource + ref + schema); err != nil {
		return fmt.Errorf("cannot compile %s: %w", ref, err)
	}
	return nil
}

// header holds the text of a header against the schema of a ref to it: as a number
// when it is one, else as text.
func (s *schemas) header(ref, text string) error {
	number := json.Number(text)
	if _, err := number.Int64(); err == nil {
		return s.compiled[ref].Validate(number)
	}
	return s.compiled[ref].Validate(text)
}

// body holds a body against the schema of that name.
func (s *schemas) body(name, contentType string, body []byte) error {
	if !strings.HasSuffix(contentType, "json") {
		return s.compiled[schemaPrefix+name].Validate(string(body))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot decode JSON: %w", err)
	}
	return s.compiled[schemaPrefix+name].Validate(value)
}
