// Package docs holds what programs show of the documentation, as it was when they were built.
package docs

import _ "embed"

// Runbook is runbook.md: Markdown, one heading for each alert.
//
//go:embed runbook.md
var Runbook []byte
