package posthouse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ValidateName reports an [ErrInvalid] with the field unless name is 1 to
// [MaxID] bytes of UTF-8 text without control characters (C0, DEL, C1).
//
// It holds for threads, coordinations, branches, nodes, agents, programs and
// labels. Names are compared byte by byte: case, spaces, combining marks and
// zero-width characters count, and two normal forms of a letter are two names.
// Nothing is ever sanitised into shape.
func ValidateName(field, name string) error {
	switch {
	case name == "":
		return invalidName(field, "is empty")
	case len(name) > MaxID:
		return invalid(field, "is %d bytes long; the limit is %d", len(name), MaxID)
	}
	for i, r := range name {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(name[i:], "\ufffd"):
			return invalidName(field, "is not valid UTF-8 at byte %d", i)
		case unicode.IsControl(r):
			return invalidName(field, "has the control character %U at byte %d", r, i)
		}
	}
	return nil
}

func invalidName(field, format string, args ...any) *Error {
	e := invalid(field, format, args...)
	e.Hint = "a name is 1 to " + itoa(MaxID) + " bytes of text without control characters"
	return e
}

// escapes are what separates names where several are written as one text, and
// the sign that begins an escape.
const escapes = "%+/#>"

// EscapeName returns a name as it stands where several are joined: in the node
// of a checkpoint that several made ("a+b"), in the path of a subgraph
// ("outer/inner"), in the name of an execution ("3/fetch#2>1/get"). The bytes
// % + / # > become %25 %2B %2F %23 %3E; any other stays. [UnescapeName] is the
// inverse.
func EscapeName(name string) string {
	at := strings.IndexAny(name, escapes)
	if at < 0 {
		return name
	}
	b := make([]byte, 0, len(name)+8)
	for b = append(b, name[:at]...); at < len(name); at++ {
		if c := name[at]; strings.IndexByte(escapes, c) >= 0 {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// UnescapeName returns the name that [EscapeName] made s of. [ErrInvalid] for
// anything that it does not make: each name has one form.
func UnescapeName(s string) (string, error) {
	if !strings.ContainsAny(s, escapes) {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if len(s)-i < 3 {
				return "", badEscape(s, i)
			}
			if c = unescaped(s[i+1 : i+3]); c == 0 {
				return "", badEscape(s, i)
			}
			i += 2
		} else if strings.IndexByte(escapes, c) >= 0 {
			return "", badEscape(s, i)
		}
		b = append(b, c)
	}
	return string(b), nil
}

// unescaped returns what two digits stand for, 0 for what is never escaped.
func unescaped(digits string) byte {
	for i := range len(escapes) {
		if c := escapes[i]; digits[0] == upperHex[c>>4] && digits[1] == upperHex[c&15] {
			return c
		}
	}
	return 0
}

func badEscape(s string, at int) error {
	e := invalid("name", "%.80q is not as names are written among others, at byte %d", s, at)
	e.Hint = "% + / # > in a name are written %25 %2B %2F %23 %3E"
	return e
}

// isNode reports whether a checkpoint's node is the one asked for: as it is
// written, or one of several that are joined by a plus, by its name or as that is
// written.
func isNode(want, have string) bool {
	if want == "" || want == have {
		return true
	}
	if !strings.ContainsAny(have, "+%") {
		return false
	}
	escaped := EscapeName(want)
	for name := range strings.SplitSeq(have, "+") {
		if name == want || name == escaped {
			return true
		}
	}
	return false
}
