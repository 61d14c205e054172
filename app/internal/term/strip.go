package term

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Strip makes s fit for one line. It removes control characters, line breaks,
// direction marks and invalid UTF-8, or replaces them by one space where they
// separated words.
func Strip(s string) string { return strip(s, false) }

// StripText is Strip for text of several lines: line feeds and tabs stay.
func StripText(s string) string { return strip(s, true) }

func strip(s string, lines bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case !hidden(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character acts on a terminal or reorders what it shows: C0,
// DEL, C1, line and paragraph separators, direction marks, invisible characters and
// the byte order mark.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb, r == 0xfeff, r == 0x061c, r == 0x180e, r == 0x00ad:
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}

// EscapeJSON writes the characters that Strip removes as \u escapes, which leaves the
// JSON equal. encoding/json escapes those below U+0020 itself.
func EscapeJSON(data []byte) []byte {
	out := make([]byte, 0, len(data)+16)
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '\n' || r == '\t' || !hidden(r):
			out = append(out, data[i:i+n]...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
