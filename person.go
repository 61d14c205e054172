package posthouse

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckPerson reports what is wrong with the name of a person in a field, as
// [ErrInvalid]; "" is fine. A name is at most [MaxID] bytes of UTF-8, without
// control characters, without characters that are not seen or that turn what is
// shown around (zero-width, bidirectional, fillers), and without spaces at its
// ends: else two names that look the same are two people, each with a vote.
// Letters that look alike, as in two alphabets, are taken: see docs/approvals.md.
func CheckPerson(field, name string) error {
	if len(name) > MaxID {
		return invalid(field, "is a name of %d bytes; the limit is %d", len(name), MaxID)
	}
	if !utf8.ValidString(name) {
		return invalid(field, "is a name that is not valid UTF-8")
	}
	for i, r := range name {
		what := ""
		switch end := i == 0 || i+utf8.RuneLen(r) == len(name); {
		case unicode.IsControl(r):
			what = "a control character"
		case unseen(r):
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

// unseen reports whether a character leaves no mark of its own.
func unseen(r rune) bool {
	return r >= 0x80 && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// checkPerson is CheckPerson for a name that is required.
func checkPerson(field, name, what string) error {
	if name == "" {
		return invalid(field, "must say %s", what)
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
	if name == byLedger || strings.HasPrefix(name, PolicyPrefix) {
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%.40q is not a person's name but the runtime's", name),
			Hint: "say who decides; what a program decides by a rule is gate.Auto's",
		}
	}
	return checkPerson(field, name, "who decides")
}
