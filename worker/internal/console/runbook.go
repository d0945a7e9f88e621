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

//go:generate cp ../../../docs/runbook.md pages/runbook.md

// Runbook is docs/runbook.md as this build has it; empty when there is none.
func Runbook() []byte {
	text, _ := files.ReadFile("pages/runbook.md") // the only error is that there is none
	return text
}

// render makes HTML of the runbook. Headings get anchors as the repository's host makes
// them, so an alert is found under its name in lower case; HTML in it is left out.
func render(markdown []byte) ([]byte, error) {
	if len(markdown) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	converter := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	if err := converter.Convert(markdown, &out); err != nil {
		return nil, fmt.Errorf("cannot render the runbook: %w", err)
	}
	return out.Bytes(), nil
}

func (c *Console) showRunbook(w http.ResponseWriter, _ *http.Request) {
	if len(c.runbook) == 0 {
		c.page(w, http.StatusNotFound, runbookPage, template.HTML(""))
		return
	}
	c.page(w, http.StatusOK, runbookPage, template.HTML(c.runbook)) // our own text, rendered without its HTML
}
