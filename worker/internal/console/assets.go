package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets pages
var files embed.FS

const assetPath = "/console/assets/"

var pages = template.Must(template.ParseFS(files, "pages/*.html"))

// Pages.
const (
	loginPage   = "login.html"
	offPage     = "off.html"
	shellPage   = "console.html"
	runbookPage = "runbook.html"
)

func isAsset(requested string) bool { return strings.HasPrefix(requested, assetPath) }

// page answers with a page; what is for its template.
func (c *Console) page(w http.ResponseWriter, status int, name string, what any) {
	var body bytes.Buffer
	if err := pages.ExecuteTemplate(&body, name, what); err != nil { // all are rendered by tests
		c.log.Error("page not rendered", "page", name, "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // an error means that the browser has gone
}

func (c *Console) shell(w http.ResponseWriter, _ *http.Request) {
	c.page(w, http.StatusOK, shellPage, nil)
}

// types are what assets are made of. Nothing else is served.
var types = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// asset answers with a file that holds no secret. Browsers ask each time whether theirs is
// still the one.
func asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/console/")
	content, err := files.ReadFile(name)
	kind := types[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
