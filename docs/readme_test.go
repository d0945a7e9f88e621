package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section is what a heading of a README has below it that is the same in every language:
// the heading's level, rows of tables, items of lists; code, links and numbers.
type section map[string][]string

// Kinds of what a section has.
const (
	kindLevel  = "levels of the heading"
	kindBlock  = "blocks of code"
	kindSpan   = "code"
	kindLink   = "links"
	kindFigure = "figures"
	kindRow    = "columns of a row"
	kindItem   = "items"
)

var (
	heading  = regexp.MustCompile(`^(#+) `)
	codeSpan = regexp.MustCompile("`[^`]+`")
	link     = regexp.MustCompile(`\]\(([^)]+)\)`)
	figure   = regexp.MustCompile(`\d+(?:[.,]\d+)*`)
)

// Each README names the other, which is the one link that they do not share.
const english, chinese = "README.md", "README.zh-CN.md"

func readmeSections(t *testing.T, name string) []section {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	sections := []section{{}}
	for i, part := range strings.Split(string(text), "\n```") {
		if i%2 == 1 {
			sections[len(sections)-1].add(kindBlock, part)
			continue
		}
		for line := range strings.Lines(part) {
			if found := heading.FindStringSubmatch(line); found != nil {
				sections = append(sections, section{kindLevel: {found[1]}})
			}
			sections[len(sections)-1].read(line)
		}
	}
	return sections
}

func (s section) add(kind string, found ...string) { s[kind] = append(s[kind], found...) }

// read takes a line of text in.
func (s section) read(line string) {
	if strings.HasPrefix(line, "|") {
		s.add(kindRow, fmt.Sprint(strings.Count(line, "|")-1))
	}
	if strings.HasPrefix(line, "- ") {
		s.add(kindItem, "-")
	}
	s.add(kindSpan, codeSpan.FindAllString(line, -1)...)
	line = codeSpan.ReplaceAllString(line, "")
	for _, found := range link.FindAllStringSubmatch(line, -1) {
		if found[1] != english && found[1] != chinese {
			s.add(kindLink, found[1])
		}
	}
	s.add(kindFigure, figure.FindAllString(link.ReplaceAllString(line, ""), -1)...)
}

// differences says what one of two sections has and the other has not, in whatever order:
// languages put the parts of a sentence in theirs.
func differences(want, got section) (found []string) {
	for _, kind := range []string{kindLevel, kindBlock, kindSpan, kindLink, kindFigure, kindRow, kindItem} {
		left := slices.Clone(got[kind])
		for _, each := range want[kind] {
			if i := slices.Index(left, each); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			found = append(found, fmt.Sprintf("%s: %s has %q, %s has not", kind, english, each, chinese))
		}
		for _, each := range left {
			found = append(found, fmt.Sprintf("%s: %s has %q, %s has not", kind, chinese, each, english))
		}
	}
	return found
}

func TestReadme_SaysTheSameInChinese(t *testing.T) {
	t.Parallel()
	want, got := readmeSections(t, english), readmeSections(t, chinese)
	if len(want) != len(got) || len(want) < 20 {
		t.Fatalf("%s has %d sections, %s has %d: each has the headings of the other, and more than 20", english, len(want), chinese, len(got))
	}
	for i := range want {
		for _, differs := range differences(want[i], got[i]) {
			t.Errorf("section %d: %s", i, differs)
		}
	}
}

func TestDifferences_SeesWhatIsInOneAlone(t *testing.T) {
	t.Parallel()
	read := func(lines ...string) section {
		s := section{kindBlock: {"make demo"}}
		for _, line := range lines {
			s.read(line)
		}
		return s
	}
	was := read("| `-drain` | 2 s |", "- see [the page](docs/load.md), 1,000 times")
	if found := differences(was, read("| 2 秒 | `-drain` |", "- 1,000 次，见[此页](docs/load.md)")); found != nil {
		t.Errorf("the same in another order differs: %q", found)
	}
	for _, c := range [][]string{
		{"| `-drain` | 3 s |", "- see [the page](docs/load.md), 1,000 times"},
		{"| `-drain` | 2 s | |", "- see [the page](docs/load.md), 1,000 times"},
		{"| `-drains` | 2 s |", "- see [the page](docs/load.md), 1,000 times"},
		{"| `-drain` | 2 s |", "- see [the page](docs/runbook.md), 1,000 times"},
		{"| `-drain` | 2 s |", "- see [the page](docs/load.md), 1,000 times", "- and more"},
	} {
		if differences(was, read(c...)) == nil {
			t.Errorf("%q differs and was not seen", c)
		}
	}
}
