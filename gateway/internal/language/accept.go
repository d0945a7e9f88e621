package language

import "bytes"

// Header is the name of the header that Preferred reads.
const Header = "Accept-Language"

// whole is the weight of a range that says none, in thousandths.
const whole = 1000

// Preferred picks the language that the values of Accept-Language, one an element,
// ask for most (RFC 9110, section 12.5.4; several headers are one list). A language
// weighs what the heaviest of its ranges does, such as zh, zh-CN or zh-Hant-HK, or
// what * does if it is not named. Among equals the one named first is taken, and
// English when none is wanted. What cannot be read is as if it were not there.
//
// golang.org/x/text/language does more (scripts, regions, kinship of languages) and
// makes several slices for each header, so it is not for a flood of refusals.
func Preferred(values [][]byte) Language {
	var w wishes
	for _, value := range values {
		for more := true; more; {
			var element []byte
			element, value, more = cut(value, ',')
			w.hear(element)
		}
	}
	return w.heaviest()
}

// wish is how much is wanted; one that was not uttered has the place 0.
type wish struct {
	weight int // thousandths
	place  int // counted from 1
}

// outdo makes w the other wish if that is to be preferred, and reports whether it is.
func (w *wish) outdo(o wish) bool {
	heavier := w.place == 0 || o.weight > w.weight || o.weight == w.weight && o.place < w.place
	if heavier {
		*w = o
	}
	return heavier
}

type wishes struct {
	of    [Count]wish
	other wish // *
	heard int
}

func (w *wishes) hear(element []byte) {
	name, parameter, weighted := cut(element, ';')
	weight, ok := whole, true
	if weighted {
		weight, ok = readWeight(trim(parameter))
	}
	name = trim(name)
	if !ok || !isRange(name) {
		return
	}
	w.heard++
	said := wish{weight, w.heard}
	if string(name) == "*" {
		w.other.outdo(said)
	}
	for l, tag := range tags {
		if isOf(name, tag) {
			w.of[l].outdo(said)
		}
	}
}

func (w *wishes) heaviest() Language {
	best, chosen := wish{}, English
	for l := range Language(Count) {
		one := w.of[l]
		if one.place == 0 {
			one = w.other
		}
		if one.weight > 0 && best.outdo(one) {
			chosen = l
		}
	}
	return chosen
}

// readWeight reads q=0 to q=1. Digits behind the third do not count.
func readWeight(parameter []byte) (thousandths int, ok bool) {
	if len(parameter) < 3 || parameter[0]|0x20 != 'q' || parameter[1] != '=' || parameter[2] != '0' && parameter[2] != '1' {
		return 0, false
	}
	thousandths = int(parameter[2]-'0') * whole
	rest := parameter[3:]
	if len(rest) == 0 {
		return thousandths, true
	}
	if rest[0] != '.' {
		return 0, false
	}
	for i, value := range rest[1:] {
		if value < '0' || value > '9' || thousandths >= whole && value != '0' {
			return 0, false
		}
		if i < len(places) {
			thousandths += int(value-'0') * places[i]
		}
	}
	return thousandths, true
}

// places are what the digits behind the point are worth, in thousandths.
var places = [...]int{100, 10, 1}

// isRange reports whether name is * or subtags of letters and digits. Apps that send
// zh_CN mean zh-CN.
func isRange(name []byte) bool {
	if string(name) == "*" {
		return true
	}
	length := 0 // of the subtag
	for _, c := range name {
		switch {
		case c == '-' || c == '_':
			if length == 0 {
				return false
			}
			length = 0
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9':
			length++
		default:
			return false
		}
	}
	return length > 0
}

// isOf reports whether a range's first subtag is tag, which is in lower case.
func isOf(name []byte, tag string) bool {
	if len(name) < len(tag) || len(name) > len(tag) && name[len(tag)] != '-' && name[len(tag)] != '_' {
		return false
	}
	for i := range len(tag) {
		if name[i]|0x20 != tag[i] {
			return false
		}
	}
	return true
}

func cut(text []byte, at byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(text, at); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, nil, false
}

func trim(text []byte) []byte { return bytes.Trim(text, " \t") }
