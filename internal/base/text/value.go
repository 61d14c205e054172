package text

import (
	"strings"
	"unicode/utf8"
)

// Valid reports whether s is UTF-8 without control characters.
func Valid(s string) bool {
	for i := 0; ; i++ {
		switch {
		case i == len(s):
			return true
		case s[i] < ' ' || s[i] == 0x7f:
			return false
		case s[i] >= utf8.RuneSelf:
			return IsText(s)
		}
	}
}

// IsText is Valid for text beyond ASCII.
func IsText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// Cut shortens s to n bytes at most, at a rune's end.
func Cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// IsUTF8 reports whether s is valid UTF-8.
func IsUTF8(s string) bool { return utf8.ValidString(s) }
