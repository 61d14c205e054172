package grants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A rule is what is promised of effects under approvals; docs/approvals.md has them in full.
type rule int

const (
	_          rule = iota
	ownGrant        // each effect has a decision of its own, on its branch, and acts once
	noAnswer        // an answer of gate.Ask licenses nothing
	requesters      // no person approves their own request
	assigned        // those decide whom the decided content's own question assigns
	kept            // no usable approval is removed
	shown           // what people were shown is what ran
	confirmed       // after a lapse of the lease nothing that is on record runs again
	recorded        // the record agrees with the witness
	asked           // no outcome is unknown without a question to people, also where the thread has ended
	rules           // how many there are
)

func (r rule) String() string {
	return [...]string{"", "own grant", "no answer", "requesters", "assigned", "kept", "shown", "confirmed", "recorded", "asked"}[r]
}

// wrongPeople are ways to break [assigned].
type wrongPeople int

const (
	samePeople wrongPeople = iota // those of the first question judge what it becomes
	delegates                     // whom the first question was handed to judge what it becomes
	tooEarly                      // others come in before they may
	tooLate                       // others come in as long after what a question became, not after the question
)

// substitute comes in where nobody has decided for patience.
const (
	substitute = "sam"
	patience   = 30 * time.Minute
)

// A payment is the content of an approval, and what is paid.
type payment struct {
	To     string   `json:"to"`
	Amount int      `json:"amount"`
	Deal   string   `json:"deal"`
	By     []string `json:"by"` // everybody who had a hand in it
}

// A fate says what became of an execution.
type fate int

const (
	running   fate = iota
	acted          // the money is gone, and the executor said so
	undone         // it did not act, and said so
	lostActed      // the money is gone, without an answer
	lost           // it did not act, without an answer
)

// An execution is one time that the function of an effect ran.
type execution struct {
	key, at, deal string // at is thread~branch
	grant         posthouse.ID
	under         *posthouse.Gate // the grant's gate as it was then
	content       []byte
	process       string
	number        int // of the process, 0 for a worker
	fate          fate
	known         bool // a person has said that it did not act
	settled       bool // a person has said that it did, or gave it up
	idempotent    bool
}

func (x *execution) didAct() bool { return x.fate == acted || x.fate == lostActed }

// A witness stands outside of programs, processes and the record.
type witness struct {
	mu        sync.Mutex
	seed      uint64
	all       []*execution
	noted     map[string]int        // plain steps by key: how often they ran
	forgotten map[string]bool       // threads where people deleted something: its effects are asked for again
	stands    map[string]bool       // plain steps that gave a program their result
	paid      map[posthouse.ID]bool // grants under which a program was given a result
	last      map[string]int        // by branch: the newest process that did anything on it
	faults    []fault
	count     map[string]int
	arm       rule
	bad       wrongPeople
	lies      bool
	verbose   func(format string, a ...any)
}

// A fault is a rule that did not hold.
type fault struct {
	rule rule
	text string
}

func (f fault) String() string { return fmt.Sprintf("%s: %s", f.rule, f.text) }

func (w *witness) fault(r rule, format string, a ...any) {
	w.faults = append(w.faults, fault{r, fmt.Sprintf(format, a...)})
	w.verbose("FAULT %s", w.faults[len(w.faults)-1])
}

// draw returns a number below n that depends on the case and on what it is drawn for, and not
// on the order in which goroutines come.
func (w *witness) draw(n int, of ...any) int {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed)
	for _, o := range of {
		fmt.Fprint(h, "/", o)
	}
	v := h.Sum64()
	v ^= v >> 29
	v *= 0xbf58476d1ce4e5b9
	v ^= v >> 32
	return int(v % uint64(n))
}

// follows notes that a process does something on a branch, after no later process has. Callers
// hold w.mu.
func (w *witness) follows(key, process string, number int) {
	at := place(key)
	if number > 0 && number < w.last[at] {
		w.fault(confirmed, "%s begins in %s, and a later process has gone on with its branch", key, process)
	}
	w.last[at] = max(w.last[at], number)
}

// claims notes that a process is about to claim a branch, whoever had it before.
func (w *witness) claims(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, at)
}

// begin notes that an effect begins. It returns how many times the deal's had begun on the branch.
func (w *witness) begin(x *execution) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count["effects begun"]++
	w.follows(x.key, x.process, x.number)
	for _, o := range w.all {
		if o.grant == x.grant && o.at != x.at {
			w.fault(ownGrant, "%s of %s runs on %s, and on %s", x.grant, x.deal, x.at, o.at)
		}
		if o.at == x.at && o.deal == x.deal {
			n++
		}
		if o.key != x.key {
			continue
		}
		switch {
		case o.fate == running && o.process == x.process && !x.idempotent:
			w.fault(ownGrant, "%s runs twice at once", x.key)
		case o.didAct() && !x.idempotent:
			w.fault(ownGrant, "%s acts again after it acted in %s", x.key, o.process)
		case o.fate != undone && !o.known && !x.idempotent:
			w.fault(ownGrant, "%s runs again, and nobody knows whether it acted (fate %d)", x.key, o.fate)
		}
		thread, _, _ := strings.Cut(x.at, "~")
		if again := w.forgotten[thread] && o.grant != x.grant; !bytes.Equal(o.content, x.content) && o.didAct() && !again {
			w.fault(ownGrant, "%s acts on %s, and on %s", x.key, o.content, x.content)
		}
	}
	w.all = append(w.all, x)
	w.verbose("begins %s under %s at %s: %s", x.key, x.grant, x.process, x.content)
	return n
}

// end notes what became of it.
func (w *witness) end(x *execution, f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.fate = f
	w.count["effect "+[...]string{"running", "acted", "undone", "lost after it acted", "lost before it acted"}[f]]++
	w.verbose("ends %s: %d", x.key, f)
}

// truth is the answer of a person who has looked at the world about an effect with an unknown
// outcome: whether it happened. The answer settles it.
func (w *witness) truth(at, deal string, content json.RawMessage) (happened bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.all {
		if x.at == at && x.deal == deal && bytes.Equal(x.content, canonical(content)) {
			happened = happened || x.didAct()
		}
	}
	return happened
}

// noteUndone notes that the record has somebody's word that an effect did not happen.
func (w *witness) noteUndone(at, deal string, content json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.all {
		if x.at == at && x.deal == deal && bytes.Equal(x.content, canonical(content)) {
			x.known = true
		}
	}
}

// noteSettled notes that people have said that an effect happened, or have given it up.
func (w *witness) noteSettled(at, deal string, content json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.all {
		if x.at == at && x.deal == deal && bytes.Equal(x.content, canonical(content)) {
			x.settled = true
		}
	}
}

// note is the function of a plain step.
func (w *witness) note(key, process string, number int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follows(key, process, number)
	w.noted[key]++
	if w.stands[key] {
		w.fault(confirmed, "step %s runs again in %s, and its result is on record", key, process)
	}
	return w.noted[key]
}

// given notes that a program was given a plain step's result.
func (w *witness) given(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands[key] = true
}

// dropped notes that what an unfinished step of a branch computed does not count any more.
func (w *witness) dropped(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.stands {
		if place(key) == at {
			delete(w.stands, key)
		}
	}
}

// note counts something that happened.
func (w *witness) tally(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[what]++
}

func canonical(data []byte) []byte {
	c, err := posthouse.CanonicalJSON(data)
	if err != nil {
		return slices.Clone(data)
	}
	return c
}
