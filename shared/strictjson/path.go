package strictjson

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// fieldAt spells a pointer as a path, such as coupons[0].bearers[1].bps; "body" for the
// whole of it. No member of a struct has a name of digits alone, so those are places in
// a list, unless named says that the last one is a name all the same: an unknown one.
func fieldAt(p jsontext.Pointer, named bool) string {
	var name string
	if named {
		p, name = p.Parent(), p.LastToken()
	}
	var path strings.Builder
	for token := range p.Tokens() {
		if isPlace(token) {
			path.WriteString("[" + token + "]")
			continue
		}
		path.WriteString("." + token)
	}
	if name != "" {
		path.WriteString("." + name)
	}
	return cmp.Or(shortened(strings.TrimPrefix(path.String(), ".")), "body")
}

func isPlace(token string) bool { return token != "" && strings.Trim(token, "0123456789") == "" }
