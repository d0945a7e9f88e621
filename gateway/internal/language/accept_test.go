package language

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestPreferred_TakesWhatIsAskedForMost(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]Language{
		"":                                    English,
		"en":                                  English,
		"zh":                                  Chinese,
		"ZH":                                  Chinese,
		"zh-CN":                               Chinese,
		"zh_CN":                               Chinese,
		"zh-Hant-HK, zh-Hant;q=0.9, en;q=0.8": Chinese,
		"zh-CN,zh;q=0.9,en;q=0.8":             Chinese,
		"en-US,en;q=0.9,zh-CN;q=0.8":          English,
		"en;q=0.5, zh;q=0.6":                  Chinese,
		"en ; q=0.5 ,\tzh\t;\tQ=0.501":        Chinese,
		"zh;q=0.1, en;q=0.2":                  English,
		"fr, zh;q=0.1":                        Chinese,
		"fr, de;q=0.9":                        English,
		"zh, en":                              Chinese, // equal: the first
		"en, zh":                              English,
		"zh;q=0.8, en;q=0.80":                 Chinese,
		"zh;q=0.5, zh-TW;q=0.9, en;q=0.7":     Chinese, // the heaviest range of a language
		"zh-TW;q=0, zh":                       Chinese,
		"*":                                   English,
		"fr, *;q=0.5":                         English,
		"*, zh;q=0.5":                         English,
		"en;q=0.2, *":                         Chinese, // what is not named is wanted more
		"en;q=0, *":                           Chinese,
		"en;q=0, *;q=0.001":                   Chinese,
		"zh;q=0, *":                           English,
		"zh;q=0":                              English,
		"en;q=0":                              English, // something must be spoken
		"en;q=0, zh;q=0":                      English,
		"en;q=0, zh;q=0.0009":                 English, // nothing, in thousandths
		"zh;q=1.000, en;q=0.999":              Chinese,
		"en;q=0.9, zh;q=0.90000001":           English,
		// Garbage is not there.
		"zh;q=2":                           English,
		"zh;q=1.001":                       English,
		"zh;q=-1":                          English,
		"zh;q=.5":                          English,
		"zh;q=":                            English,
		"zh;q":                             English,
		"zh;":                              English,
		"zh;q=0.5;q=0.5":                   English,
		"zh;level=1":                       English,
		"zh;q=0,9":                         English, // refused, and then a range 9
		"zh;q=0.5x, en":                    English,
		"z h":                              English,
		"zhx, zh1, zhong-CN, xzh, -zh":     English,
		"zh-, zh--CN, zh-\xff, \"zh\", z*": English,
		",,, ;;; ,zh,,":                    Chinese,
		"\x00, zh":                         Chinese,
		"中文, zh;q=0.3":                     Chinese,
	} {
		if got := Preferred([][]byte{[]byte(header)}); got != want {
			t.Errorf("%q: %s, want %s", header, got.Tag(), want.Tag())
		}
	}
}

func TestPreferred_SeveralHeadersAreOneList(t *testing.T) {
	t.Parallel()
	if got := Preferred(nil); got != English {
		t.Errorf("no header: %s", got.Tag())
	}
	if got := Preferred([][]byte{[]byte("en;q=0.5"), []byte("zh;q=0.9")}); got != Chinese {
		t.Errorf("two headers: %s", got.Tag())
	}
}

// Not parallel: AllocsPerRun counts the whole process.
func TestPreferred_AllocatesNothing(t *testing.T) {
	values := [][]byte{[]byte("fr-CH, fr;q=0.9, zh-Hans-CN;q=0.8, en;q=0.7, *;q=0.5"), bytes.Repeat([]byte("x;q=0.1,"), 1000)}
	if n := testing.AllocsPerRun(100, func() { Preferred(values) }); n != 0 {
		t.Errorf("%v heap allocations", n)
	}
}

var (
	element = regexp.MustCompile(`^[ \t]*(\*|[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*)[ \t]*(?:;[ \t]*[qQ]=(0(?:\.[0-9]*)?|1(?:\.0*)?)[ \t]*)?$`)
	spoken  = regexp.MustCompile(`^(?i)(en|zh)(?:[-_]|$)`)
)

// described picks as the comment of Preferred says, in another way.
func described(header string) string {
	weights := map[string]int{}
	var named []string // in order of their heaviest ranges, which decides among equals
	for part := range strings.SplitSeq(header, ",") {
		m := element.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		weight := whole
		if m[2] != "" {
			weight, _ = strconv.Atoi((strings.Replace(m[2], ".", "", 1) + "000")[:4])
		}
		name := m[1]
		if s := spoken.FindStringSubmatch(name); s != nil {
			name = strings.ToLower(s[1])
		} else if name != "*" {
			continue
		}
		if old, ok := weights[name]; ok && old >= weight {
			continue
		}
		weights[name] = weight
		named = append(deleted(named, name), name)
	}
	best, chosen := 0, "en"
	for _, name := range named {
		candidates := []string{name}
		if name == "*" {
			candidates = []string{"en", "zh"}
		}
		for _, c := range candidates {
			if _, ok := weights[c]; name == "*" && ok {
				continue
			}
			if weights[name] > best {
				best, chosen = weights[name], c
			}
		}
	}
	return chosen
}

func deleted(names []string, name string) []string {
	var kept []string
	for _, n := range names {
		if n != name {
			kept = append(kept, n)
		}
	}
	return kept
}

func FuzzAcceptLanguage(f *testing.F) {
	for _, seed := range []string{
		"", "zh", "zh-CN,zh;q=0.9,en;q=0.8", "en-US,en;q=0.5", "*", "*;q=0, zh_TW;q=0.001", "en;q=0, *;q=0.5", "fr;q=1.000, zh;q=0.999", ";q=1", "zh;q=1;q=0", "zh ;\tq=0.5\t, en",
		",", "q=1", "zh;q=00.5", "zh;q=0.", "zh;q=1.", "en\x00zh", strings.Repeat("zh;q=0.5,", 9), strings.Repeat("-", 80), "zh;q=0.1234567890, en;q=0.124",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := Preferred([][]byte{[]byte(header)}).Tag()
		if want := described(header); got != want {
			t.Errorf("%q: %s, described: %s", header, got, want)
		}
		if several := Preferred(bytes.Split([]byte(header), []byte(","))).Tag(); several != got {
			t.Errorf("%q: %s, as several headers %s", header, got, several)
		}
		if louder := Preferred([][]byte{bytes.ToUpper([]byte(header))}).Tag(); louder != got && isASCII(header) {
			t.Errorf("%q: %s, in capitals %s", header, got, louder)
		}
	})
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0
}
