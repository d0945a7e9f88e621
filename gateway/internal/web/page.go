package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

//go:embed page words
var files embed.FS

// scripts are the page's modules, each behind those that it imports from while it is
// evaluated.
var scripts = []string{
	"dom", "language", "format", "clock", "session", "calls", "tickets", "sales", "attempt", "follow", "pay", "announce",
	"countdown", "ticketview", "card", "signin", "frame", "app",
}

// languages of the page; the first is that of readers with none of them.
var languages = []string{"en", "zh"}

// Page is the document, ready to be sent.
type Page struct {
	Body    []byte
	Gzip    []byte // the same, compressed
	Tag     string // strong ETag of Body
	GzipTag string // and of Gzip
	Policy  string // Content-Security-Policy
}

// New puts the page together. With local it offers to sign in and to pay, as Local does.
func New(local bool) Page {
	style, script := read("page/page.css"), bundle()
	body := []byte(strings.NewReplacer("{{local}}", fmt.Sprint(local), "{{style}}", style, "{{script}}", script).Replace(read("page/index.html")))
	sum := sha256.Sum256(body)
	return Page{
		Body: body, Gzip: compressed(body), Tag: fmt.Sprintf(`"%x"`, sum[:16]), GzipTag: fmt.Sprintf(`"%x-gzip"`, sum[:16]),
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'", hash(script), hash(style)),
	}
}

// read returns a file that is built in.
func read(name string) string {
	content, err := files.ReadFile(name)
	if err != nil {
		panic("the page lacks a part: " + err.Error()) // a mistake of the build; every part is read by tests
	}
	return string(content)
}

// Each module becomes a function that is called once: what it imports are constants of it,
// and what it exports is its result.
var (
	imports = regexp.MustCompile(`(?m)^import ({.*}) from './(\w+)\.js';$`)
	exports = regexp.MustCompile(`(?m)^export ((?:async )?(?:const|function|class) (\w+))`)
)

// bundle makes one module of all, so that a page is one request.
func bundle() string {
	var b strings.Builder
	fmt.Fprintf(&b, "const WORDS = {%s};\n", strings.Join(dictionaries(), ", "))
	for _, name := range scripts {
		text := read("page/" + name + ".js")
		var exported []string
		for _, found := range exports.FindAllStringSubmatch(text, -1) {
			exported = append(exported, found[2])
		}
		text = exports.ReplaceAllString(imports.ReplaceAllString(text, "const $1 = $$$2;"), "$1")
		fmt.Fprintf(&b, "const $%s = (() => {\n%sreturn { %s };\n})();\n", name, text, strings.Join(exported, ", "))
	}
	return b.String()
}

// dictionaries are the words of each language, as members of an object.
func dictionaries() []string {
	all := make([]string, len(languages))
	for i, language := range languages {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(read("words/"+language+".json"))); err != nil {
			panic("the words of the page are not JSON: " + err.Error()) // as above
		}
		all[i] = language + ": " + compact.String()
	}
	return all
}

// hash names a part in the policy.
func hash(part string) string {
	sum := sha256.Sum256([]byte(part))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that exists
	_, _ = w.Write(body)                                  // memory takes it all
	_ = w.Close()
	return b.Bytes()
}
