package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkNames refuses headers and bodies whose schema has no name in components:
// only the named ones are compiled, and cases are called by them.
func checkNames(doc *openapi3.T) error {
	var errs []error
	for name, response := range doc.Components.Responses {
		for header, ref := range response.Value.Headers {
			if !strings.HasPrefix(ref.Ref, headerPrefix) {
				errs = append(errs, fmt.Errorf("header %s of response %s is not a $ref to components", header, name))
			}
		}
		for _, media := range response.Value.Content {
			for _, a := range alternatives(media.Schema) {
				if a.name == "" {
					errs = append(errs, fmt.Errorf("the body of response %s has a schema that is not a $ref to components", name))
				}
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, ref := range operation.Responses.Map() {
				if ref.Ref == "" {
					errs = append(errs, fmt.Errorf("response %s of %s %s is not a $ref to components", status, method, path))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// checkExamples holds the example of every response against its schemas.
func (s *schemas) checkExamples(doc *openapi3.T) error {
	var errs []error
	for name, response := range doc.Components.Responses {
		for contentType, media := range response.Value.Content {
			for _, example := range examplesOf(media) {
				errs = append(errs, s.checkExample(name, contentType, media, example))
			}
		}
	}
	return errors.Join(errs...)
}

func examplesOf(media *openapi3.MediaType) []any {
	var all []any
	if media.Example != nil {
		all = append(all, media.Example)
	}
	for _, ref := range media.Examples {
		all = append(all, ref.Value.Value)
	}
	return all
}

func (s *schemas) checkExample(response, contentType string, media *openapi3.MediaType, example any) error {
	if contentType == eventStream {
		text, _ := example.(string)
		if err := s.events(media, []byte(text)); err != nil {
			return fmt.Errorf("an example of response %s: %w", response, err)
		}
		return nil
	}
	text, err := json.Marshal(example)
	if err != nil {
		return fmt.Errorf("cannot encode an example of response %s: %w", response, err)
	}
	var errs []error
	for _, a := range alternatives(media.Schema) {
		err := s.body(a.name, contentType, text)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("an example of response %s: %w", response, errors.Join(errs...))
}
