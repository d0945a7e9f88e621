package console

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// render makes HTML of the runbook. Headings get anchors as the repository's host makes
// them, so an alert is found under its name in lower case; HTML in it is left out.
func render(markdown []byte) ([]byte, error) {
	var out bytes.Buffer
	converter := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	if err := converter.Convert(markdown, &out); err != nil {
		return nil, fmt.Errorf("cannot render the runbook: %w", err)
	}
	return out.Bytes(), nil
}

func (c *Console) showRunbook(w http.ResponseWriter, _ *http.Request) {
	c.page(w, http.StatusOK, runbookPage, template.HTML(c.runbook)) // our own text, rendered without its HTML
}
