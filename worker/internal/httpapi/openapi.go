package httpapi

import (
	"crypto/sha256"
	_ "embed" // the document
	"fmt"
	"net/http"
	"strings"
)

//go:embed openapi.yaml
var document []byte

var documentTag = fmt.Sprintf(`"%x"`, sha256.Sum256(document))

// Description answers with the document that describes both of the worker's listeners.
func Description() http.Handler { return reading(describeAPI) }

// describeAPI is GET /openapi.yaml. A new release is seen within minutes. Tags are
// compared weakly: a proxy that compresses puts W/ in front.
func describeAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("ETag", documentTag)
	known := strings.Join(r.Header.Values("If-None-Match"), ", ")
	if known == "*" || strings.Contains(known, documentTag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(document) // an error means that the client has gone
}
