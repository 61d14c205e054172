package posthouse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/text"
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
		return Invalid(field, "is %d bytes long; the limit is %d", len(name), MaxID)
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
	e := Invalid(field, format, args...)
	e.Hint = "a name is 1 to " + strconv.Itoa(MaxID) + " bytes of text without control characters"
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
	e := Invalid("name", "%.80q is not as names are written among others, at byte %d", s, at)
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

// CheckPerson reports what is wrong with the name of a person in a field, as
// [ErrInvalid]; "" is fine. A name is at most [MaxID] bytes of UTF-8, without
// control characters, without characters that are not seen or that turn what is
// shown around (zero-width, bidirectional, fillers), and without spaces at its
// ends: else two names that look the same are two people, each with a vote.
// Letters that look alike, as in two alphabets, are taken: see docs/approvals.md.
func CheckPerson(field, name string) error {
	if len(name) > MaxID {
		return Invalid(field, "is a name of %d bytes; the limit is %d", len(name), MaxID)
	}
	if !utf8.ValidString(name) {
		return Invalid(field, "is a name that is not valid UTF-8")
	}
	for i, r := range name {
		what := ""
		switch end := i == 0 || i+utf8.RuneLen(r) == len(name); {
		case unicode.IsControl(r):
			what = "a control character"
		case text.Invisible(r):
			what = "which is not seen"
		case end && unicode.IsSpace(r):
			what = "a space at its end"
			if i == 0 {
				what = "a space at its beginning"
			}
		default:
			continue
		}
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("has a name with the character %U, %s: %.40q", r, what, name),
			Hint: "leave that character out",
		}
	}
	return nil
}

// CheckNamed is CheckPerson for a name that is required.
func CheckNamed(field, name, what string) error {
	if name == "" {
		return Invalid(field, "must say %s", what)
	}
	return CheckPerson(field, name)
}

// PolicyPrefix begins the names under which policies of a program decide in the
// place of people, as "policy:judge". No person has such a name.
const PolicyPrefix = "policy:"

// CheckDecider is [CheckPerson] for who decides, votes or delegates: the name is
// required, and is none of the runtime's own ("posthouse", [PolicyPrefix]). The
// rules for people's answers would not hold for it.
func CheckDecider(field, name string) error {
	if name == RuntimeActor || strings.HasPrefix(name, PolicyPrefix) {
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%.40q is not a person's name but the runtime's", name),
			Hint: "say who decides; what a program decides by a rule is gate.Auto's",
		}
	}
	return CheckNamed(field, name, "who decides")
}
