package text

import "strings"

// escapes are the signs that separate joined names, and the sign that begins an escape.
const escapes = "%+/#>"

const upperHex = "0123456789ABCDEF"

// Escape writes % + / # > as %25 %2B %2F %23 %3E. Other bytes stay.
func Escape(s string) string {
	at := 0
	for at < len(s) && !isEscaped(s[at]) {
		at++
	}
	if at == len(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for b = append(b, s[:at]...); at < len(s); at++ {
		if c := s[at]; isEscaped(c) {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// isEscaped is a comparison by hand: each step of a graph escapes the name of its node.
func isEscaped(c byte) bool { return c == '%' || c == '+' || c == '/' || c == '#' || c == '>' }

// Unescape returns what [Escape] wrote as s. Where it never writes that, bad is the place
// of the first such byte, else -1.
func Unescape(s string) (text string, bad int) {
	if !strings.ContainsAny(s, escapes) {
		return s, -1
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if len(s)-i < 3 {
				return "", i
			}
			c = unescaped(s[i+1 : i+3])
			if c == 0 {
				return "", i
			}
			i += 2
		} else if strings.IndexByte(escapes, c) >= 0 {
			return "", i
		}
		b = append(b, c)
	}
	return string(b), -1
}

// unescaped returns the byte that two digits encode, or 0 for one never escaped.
func unescaped(digits string) byte {
	for i := range len(escapes) {
		if c := escapes[i]; digits[0] == upperHex[c>>4] && digits[1] == upperHex[c&15] {
			return c
		}
	}
	return 0
}

// IsAmong reports whether a name is the one asked for, or among those that it joins with "+",
// escaped or not. An empty want is any name.
func IsAmong(want, have string) bool {
	if want == "" || want == have {
		return true
	}
	if !strings.ContainsAny(have, "+%") {
		return false
	}
	escaped := Escape(want)
	for name := range strings.SplitSeq(have, "+") {
		if name == want || name == escaped {
			return true
		}
	}
	return false
}
