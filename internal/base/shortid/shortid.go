package shortid

import (
	"regexp"
	"strings"
)

// Least is the fewest characters of an id's ending, or of its beginning, that name it.
const Least = 4

// idPattern matches an id as it is made.
const idPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	whole     = regexp.MustCompile(`^(gate-)?` + idPattern + `$`)
	endsInID  = regexp.MustCompile(`(^|[^0-9a-f])` + idPattern + `$`)
	shortened = strings.NewReplacer("...", "…")
)

// madeLength is the length of an id as it is made.
const madeLength = 36

// IsWhole reports whether a text is a whole id, as the runtime makes it.
func IsWhole(id string) bool { return whole.MatchString(id) }

// EndsInID reports whether a text ends in a whole id, as a name may.
func EndsInID(name string) bool { return endsInID.MatchString(name) }

// A Part is part of an id: its beginning, its ending, or both, as in 01a2…667e.
type Part struct {
	head, tail string

	// Elided says that the beginning comes before the ending; else the text may be either.
	Elided bool
}

// Read reads part of an id. A part that is too short to name one is not ok.
func Read(text string) (p Part, ok bool) {
	head, tail, elided := strings.Cut(shortened.Replace(text), "…")
	if !elided {
		return Part{text, text, false}, len(text) >= Least
	}
	return Part{head, tail, true}, len(tail) >= Least || tail == "" && len(head) >= Least
}

// Matches reports whether the id, or a name that ends in one, has these parts. A name that
// somebody gave has no parts: order-1 is not short for order-12.
func (p Part) Matches(id string) bool {
	if !endsInID.MatchString(id) {
		return false
	}
	made := id[len(id)-madeLength:]
	begins := strings.HasPrefix(made, p.head) || strings.HasPrefix(id, p.head) && len(p.head) >= len(id)-madeLength+Least
	ends := strings.HasSuffix(id, p.tail)
	if p.Elided && p.tail == "" {
		return begins
	}
	if p.Elided {
		short := strings.HasPrefix(id, p.head) && len(p.head) <= len(id)-len(p.tail) // gate-…667e
		return ends && (begins || short) && len(p.head)+len(p.tail) < len(id)
	}
	return begins || ends
}
