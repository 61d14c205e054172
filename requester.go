package posthouse

import (
	"slices"
	"time"
)

// MaxRequesters bounds the requesters of one branch.
const MaxRequesters = 1000

// Parts of a program in which a branch keeps its requesters. They stay with its
// forks and copies. Only the runtime writes them.
const (
	SenderPart     = "$by"         // who sent the newest input, as JSON text
	RequestersPart = "$requesters" // all requesters, as a JSON list; without it the sender is the only one
)

// Ways to become a requester, beside the kinds of checkpoints ([KindInput],
// [KindUpdate], [KindFork], [KindSave]).
const (
	RequestedBySignal = "signal" // sent a signal that the program took
	RequestedByImport = "import" // imported the thread without verification
	RequestedByAnswer = "answer" // answered an earlier question of the branch ([Respond])
)

// A Requester is somebody who made, or changed, what a question asks. Requesters may not
// approve it, unless the question allows it.
type Requester struct {
	Name string    `json:"name"`
	How  string    `json:"how"`            // "signal", "import", "answer", or the kind of the checkpoint: input, update, fork, save
	What []string  `json:"what,omitempty"` // the parts of the state that changed, or the names of the signals or questions; at most 16
	At   time.Time `json:"at,omitzero"`    // the first time
}

// Requests reports whether the gate is a person's request, alone or with others, under this name or
// another one of theirs ([Gate.SamePerson]).
func (g *Gate) Requests(name string) bool { return name != "" && g.Requester(name) != "" }

// RequesterNames returns the requesters of the gate, RequestedBy first, each once.
func (g *Gate) RequesterNames() (names []string) {
	add := func(n string) {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	add(g.RequestedBy)
	for i := range g.Requesters {
		add(g.Requesters[i].Name)
	}
	return names
}
