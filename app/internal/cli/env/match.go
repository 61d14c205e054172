package env

import (
	"regexp"
	"strings"
)

// leastEnding is the fewest characters of an id's ending, or of its beginning, that name it.
const leastEnding = 4

// idPattern matches an id as it is made.
const idPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	wholeID   = regexp.MustCompile(`^(gate-)?` + idPattern + `$`)
	endsInID  = regexp.MustCompile(`(^|[^0-9a-f])` + idPattern + `$`)
	shortened = strings.NewReplacer("...", "…")
)

// madeLength is the length of an id as it is made.
const madeLength = 36

// A shortID is part of an id: its beginning, its ending, or both, as in 01a2…667e.
type shortID struct {
	head, tail string
	elided     bool // head comes before tail; else each stands for the other
}

// readShort reads part of an id. A part that is too short to name one is not ok.
func readShort(arg string) (s shortID, ok bool) {
	head, tail, elided := strings.Cut(shortened.Replace(arg), "…")
	if !elided {
		return shortID{arg, arg, false}, len(arg) >= leastEnding
	}
	return shortID{head, tail, true}, len(tail) >= leastEnding || tail == "" && len(head) >= leastEnding
}

// matches reports whether the id, or a name that ends in one, has these parts. A name that
// somebody gave has no parts: order-1 is not short for order-12.
func (s shortID) matches(id string) bool {
	if !endsInID.MatchString(id) {
		return false
	}
	made := id[len(id)-madeLength:]
	begins := strings.HasPrefix(made, s.head) || strings.HasPrefix(id, s.head) && len(s.head) >= len(id)-madeLength+leastEnding
	ends := strings.HasSuffix(id, s.tail)
	if s.elided && s.tail == "" {
		return begins
	}
	if s.elided {
		short := strings.HasPrefix(id, s.head) && len(s.head) <= len(id)-len(s.tail) // gate-…667e
		return ends && (begins || short) && len(s.head)+len(s.tail) < len(id)
	}
	return begins || ends
}
