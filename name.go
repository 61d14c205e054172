package posthouse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/base/text"
)

// ValidateName reports an [ErrInvalid] with the field unless the name is valid: 1 to
// [MaxID] bytes of UTF-8 text without control characters (C0, DEL, C1).
//
// It holds for threads, coordinations, branches, nodes, agents, programs and labels.
// Names are compared byte by byte: case, spaces, combining marks and zero-width
// characters count, and two normal forms of a letter are two names. An invalid name is
// refused, never changed.
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

// CheckThread checks the name of a thread that somebody begins, sends to, imports, copies
// to, deletes or releases. Beyond [ValidateName] it refuses, as [ErrInvalid], names that have
// only blanks and invisible characters, since people could not tell them apart, and those
// that begin with $: they are the runtime's own ([ProcessThread] has the sessions of workers,
// others the tokens and sessions of clients), except [DefaultThread]. A thread of such a name
// that an earlier version began can be read, exported, and copied to another name.
func CheckThread(field, name string) error {
	if err := ValidateName(field, name); err != nil {
		return err
	}
	if !strings.ContainsFunc(name, isShown) {
		return invalidName(field, "shows nothing: it has only blanks and invisible characters")
	}
	if IsRuntimeThread(name) {
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%.40q begins with $: such threads are the runtime's own", name),
			Hint: "choose a name that does not begin with $; " + DefaultThread + " is the thread of callers that name none",
		}
	}
	return nil
}

func isShown(r rune) bool { return !unicode.IsSpace(r) && !text.Invisible(r) }

// IsRuntimeThread reports whether a thread's name is one of the runtime's own: it begins
// with $ and is not [DefaultThread].
func IsRuntimeThread(name string) bool { return IsReserved(name) && name != DefaultThread }

func invalidName(field, format string, args ...any) *Error {
	e := Invalid(field, format, args...)
	e.Hint = "a name is 1 to " + strconv.Itoa(MaxID) + " bytes of text without control characters"
	return e
}

// EscapeName returns a name as it is written where several are joined. That is in the
// node of a checkpoint that several made ("a+b"), in the path of a subgraph
// ("outer/inner"), and in the name of an execution ("3/fetch#2>1/get"). The bytes % + /
// # > become %25 %2B %2F %23 %3E; others stay. [UnescapeName] is the inverse.
func EscapeName(name string) string { return text.Escape(name) }

// UnescapeName returns the name that [EscapeName] wrote as s. Each name has one form;
// [ErrInvalid] for any other.
func UnescapeName(s string) (string, error) {
	name, at := text.Unescape(s)
	if at < 0 {
		return name, nil
	}
	e := Invalid("name", "%.80q is not as names are written among others, at byte %d", s, at)
	e.Hint = "% + / # > in a name are written %25 %2B %2F %23 %3E"
	return "", e
}

// CheckPerson reports, as [ErrInvalid], what is wrong with the name of a person in a
// field; "" is valid. A name is at most [MaxID] bytes of UTF-8. It has no control
// characters, no invisible ones (zero-width, bidirectional, fillers), and no spaces at
// its ends: two names that look the same would be two people with a vote each. Letters
// that look alike in two alphabets are allowed: see docs/approvals.md.
func CheckPerson(field, name string) error {
	if len(name) > MaxID {
		return Invalid(field, "is a name of %d bytes; the limit is %d", len(name), MaxID)
	}
	if !utf8.ValidString(name) {
		return Invalid(field, "is a name that is not valid UTF-8")
	}
	if r, what := text.PersonFault(name); what != "" {
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("has a name with the character %U, %s: %.40q", r, what, name),
			Hint: "leave that character out",
		}
	}
	return nil
}

// SameName reports whether two names are one person's: they are compared without case and with
// compatible characters, such as full-width letters, as one (NFKC). On record a name stays as it was
// written. Letters that look alike in two alphabets are different.
func SameName(a, b string) bool { return a == b || text.FoldPerson(a) == text.FoldPerson(b) }

// CheckNamed is CheckPerson for a name that is required.
func CheckNamed(field, name, what string) error {
	if name == "" {
		return Invalid(field, "must say %s", what)
	}
	return CheckPerson(field, name)
}

// PolicyPrefix begins the names under which a program's policies decide, as in
// "policy:judge". No person may have such a name.
const PolicyPrefix = "policy:"

// WorkerPrefix begins the names under which workers are on record, as in "worker:gpu-1".
const WorkerPrefix = "worker:"

// reconcileActor is by whom a program's reconciliation of an unknown outcome decides.
const reconcileActor = "program:reconcile"

// CheckDecider checks the name of somebody who decides, votes or delegates. Beyond
// [CheckPerson] the name is required and must not be one of the runtime's own
// ("posthouse", "program:reconcile", [PolicyPrefix]), to which the rules for people do not apply, or those of workers
// ([WorkerPrefix]).
func CheckDecider(field, name string) error {
	folded := text.FoldPerson(name)
	if folded == RuntimeActor || folded == reconcileActor || strings.HasPrefix(folded, PolicyPrefix) || strings.HasPrefix(folded, WorkerPrefix) {
		return &Error{
			Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%.40q is not a person's name but the runtime's", name),
			Hint: "say who decides; what a program decides by a rule is gate.Auto's",
		}
	}
	return CheckNamed(field, name, "who decides")
}
