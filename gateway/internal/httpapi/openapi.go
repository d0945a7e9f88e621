package httpapi

import (
	"crypto/sha256"
	_ "embed" // the document
	"fmt"

	"github.com/valyala/fasthttp"
)

//go:embed openapi.yaml
var document []byte

var documentTag = fmt.Sprintf(`"%x"`, sha256.Sum256(document))

// describeAPI is GET /openapi.yaml. A new release is seen within minutes.
func describeAPI(ctx *fasthttp.RequestCtx) {
	writeCached(ctx, documentTag, "public, max-age=300", "application/yaml", document)
}
