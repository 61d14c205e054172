package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// FoldPerson returns the form in which names of people are compared: without case, and with
// compatible characters, such as full-width letters, as one. A name is never recorded in it.
func FoldPerson(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	// A folded rune may be compatible with another one, and the reverse: so twice.
	return norm.NFKC.String(foldCase(norm.NFKC.String(foldCase(name))))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// foldCase has each rune as the lower case of the first one of those that differ in case only.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
			first = min(first, x)
		}
		return unicode.ToLower(first)
	}, s)
}

// scripts whose letters people mistake for one another.
var lookalikes = map[string]*unicode.RangeTable{
	"Latin": unicode.Latin, "Greek": unicode.Greek, "Cyrillic": unicode.Cyrillic, "Armenian": unicode.Armenian, "Cherokee": unicode.Cherokee, "Coptic": unicode.Coptic,
}

// MixedScripts reports whether a name has letters of two alphabets that people mistake for one another,
// such as Latin and Cyrillic.
func MixedScripts(name string) bool {
	if isASCII(name) {
		return false
	}
	seen := ""
	for _, r := range name {
		for script, table := range lookalikes {
			if unicode.Is(table, r) {
				if seen != "" && seen != script {
					return true
				}
				seen = script
			}
		}
	}
	return false
}
