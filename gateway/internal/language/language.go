// Package language picks the language that a buyer is answered in. It is pure and
// allocates nothing: the refusals of a flood go through it.
package language

// Language is one that the gateway speaks.
type Language uint8

// The languages; English is for everybody who asks for none of them.
const (
	English Language = iota
	Chinese
)

// Count is how many languages there are, so that an array can have one of each.
const Count = int(Chinese) + 1

var tags = [Count]string{English: "en", Chinese: "zh"}

// Tag names the language as BCP 47 and Content-Language do.
func (l Language) Tag() string { return tags[l] }
