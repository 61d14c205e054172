package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// brailleBlank is a letter without a dot: it looks like a space.
const brailleBlank = 0x2800

// Invisible reports whether a character leaves no mark of its own.
func Invisible(r rune) bool {
	return r >= 0x80 && (r == brailleBlank || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// Hidden reports whether a character makes what people see differ from what is there: it
// is invisible, reorders its neighbours, or acts on a terminal. Line feeds and tabs are
// not hidden.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r >= 0x7f && r <= 0x9f:
		return true
	}
	return Invisible(r)
}

// Mark is what is shown in place of a hidden character, as in ‹U+202E›.
func Mark(r rune) string { return fmt.Sprintf("‹U+%04X›", r) }

// Visible returns s as people may look at it: with a [Mark] in place of each hidden character, a [MixedMark] in place of
// each letter of another script than its word's, a count in place of lines and spaces that show nothing, as in
// ‹300 empty lines›, and U+FFFD in place of each byte that is not UTF-8. Visible of that is the same again. The pages
// show texts so, too: testdata/shown.json is read by the tests of both.
func Visible(s string) string {
	if hasOther(s) {
		s = replaceMixed(piecesOf(s), MixedMark)
	}
	return shortened(Typeable(s), func(string) {})
}

// Typeable returns s with a [Mark] in place of each hidden character alone. It is for what people type again: a name
// of two scripts stays the name.
func Typeable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, Hidden) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n, hidden := At(s, i) // a byte that is not UTF-8 comes as U+FFFD
		if hidden {
			b.WriteString(Mark(r))
		} else {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// HiddenIn returns the marks of the hidden characters of texts, each once.
func HiddenIn(texts ...string) (marks []string) {
	for _, s := range texts {
		for i := 0; i < len(s); {
			r, n, hidden := At(s, i)
			if hidden && !slices.Contains(marks, Mark(r)) {
				marks = append(marks, Mark(r))
			}
			i += n
		}
	}
	return marks
}

// PersonFault returns the first character of a person's name that makes it look like another
// one, and says what it is; "" if the name has no such character.
func PersonFault(name string) (r rune, what string) {
	for i, r := range name {
		switch end := i == 0 || i+utf8.RuneLen(r) == len(name); {
		case unicode.IsControl(r):
			return r, "a control character"
		case Invisible(r):
			return r, "which is not seen"
		case end && unicode.IsSpace(r) && i == 0:
			return r, "a space at its beginning"
		case end && unicode.IsSpace(r):
			return r, "a space at its end"
		}
	}
	return 0, ""
}
