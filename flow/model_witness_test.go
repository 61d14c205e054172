package flow_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A witness watches what really runs, on each line of history. It knows effects
// by the names that the model gives them, and by nothing that a run could get
// wrong.
type witness struct {
	mu       sync.Mutex
	life     int             // of the process
	acked    map[string]bool // effects that a run was told to be on record
	ran      map[string]int  // in which life one happened last
	keys     map[string]string
	attempts map[string]int
	clocks   map[string]string    // what step.Now and step.NewID said
	awaited  map[string]int       // the signal that a line waits for, or took last
	parked   map[posthouse.ID]int // the same, of a line with that head
	known    map[string]bool      // lines that have been seen
	inherits func(thread, branch string) (map[string]int, error)
	events   int
	event    func(n int) // told of each effect that begins
	wrong    []string
}

func newWitness() *witness {
	return &witness{
		life: 1, acked: map[string]bool{}, ran: map[string]int{}, keys: map[string]string{}, attempts: map[string]int{},
		clocks: map[string]string{}, awaited: map[string]int{}, parked: map[posthouse.ID]int{}, known: map[string]bool{},
	}
}

func (w *witness) blame(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// line returns the line of history that ctx runs on, and learns what it has from
// the one it was forked from. Callers hold w.mu.
func (w *witness) line(ctx context.Context) string {
	t, _ := engine.From(ctx)
	thread, branch := t.Session().Thread(), t.Session().Branch()
	line := thread + "~" + branch
	if !w.known[line] {
		w.known[line] = true
		names, err := w.inherits(thread, branch)
		if err != nil {
			w.blame("what %s inherits: %v", line, err)
		}
		for name := range names {
			w.acked[line+" "+name] = true
		}
	}
	return line
}

var errPlanned = errors.New("planned")

func isPlanned(err error) bool { return strings.Contains(err.Error(), errPlanned.Error()) } // also as it is read back from the log

// act is an attempt of an effect, at the end of a step's function.
func (w *witness) act(ctx context.Context, o *op, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	if w.event != nil {
		w.event(w.events)
	}
	at := w.line(ctx) + " " + name
	if w.attempts[at]++; w.attempts[at] <= o.Fails {
		if o.Panics {
			panic(errPlanned)
		}
		return errPlanned
	}
	switch {
	case w.acked[at]:
		w.blame("%s is on record and was done again", at)
	case w.ran[at] == w.life:
		w.blame("%s was done twice without a crash", at)
	}
	w.ran[at] = w.life
	key := step.Key(ctx)
	if was := cmp.Or(w.keys[at], key); was != key {
		w.blame("%s had the key %s and then %s", at, was, key)
	}
	w.keys[at] = key
	return nil
}

// told is what a run got for an effect.
func (w *witness) told(ctx context.Context, name, got string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := w.line(ctx)
	if got != name {
		w.blame("%s on %s got the result of %q", name, line, got)
	}
	w.acked[line+" "+name] = true
}

// clock is told what an execution took for the time, or for a new id.
func (w *witness) clock(ctx context.Context, name, got string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.line(ctx) + " " + name
	if was := cmp.Or(w.clocks[at], got); was != got {
		w.blame("%s was %s and then %s", at, was, got)
	}
	w.clocks[at] = got
}

func (w *witness) awaits(ctx context.Context, signal int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited[w.line(ctx)] = signal
}

// mark distinguishes what effects return from what else is on record.
const mark = "!"

// effectOf returns the name of the effect that a recorded result belongs to, ""
// for a result without an effect.
func effectOf(body []byte) string {
	var one string
	var list []string
	switch {
	case json.Unmarshal(body, &one) == nil:
	case json.Unmarshal(body, &list) == nil && len(list) > 0:
		one = list[0]
	}
	name, ok := strings.CutPrefix(one, mark)
	if !ok {
		return ""
	}
	return name
}

// recorded returns how often each effect is on record of a line of history, up
// to an entry, with what it has from the lines it was forked from; only those if
// inherited.
func recorded(ctx context.Context, l *ledger.Ledger, thread, branch string, to uint64, inherited bool) (map[string]int, error) {
	names, first := map[string]int{}, uint64(0)
	for h, err := range l.List(ctx, posthouse.Query{Thread: thread, Branch: branch, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		if h.Source == nil {
			continue
		}
		from, err := l.GetHeader(ctx, h.Source.ID)
		if err != nil {
			return nil, err
		}
		names, err = recorded(ctx, l, from.Thread, from.Branch, from.Seq, false)
		if err != nil {
			return nil, err
		}
		first = h.Seq
	}
	if inherited {
		return names, nil
	}
	for e, err := range l.Log(ctx, thread, posthouse.Range{To: to}) {
		if err != nil {
			return nil, err
		}
		for i, r := range e.Records {
			if r.Step == nil || cmp.Or(r.Step.Branch, posthouse.MainBranch) != branch || e.Seq == first { // that one holds copies
				continue
			}
			if name := effectOf(e.Bodies[i]); name != "" {
				names[name]++
			}
		}
	}
	return names, nil
}

// account compares what is on record of a line with the effects of the model:
// each is there once.
func account(names map[string]int, effects map[string]bool) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, ok := effects[name]; !ok || names[name] > 1 {
			wrong = append(wrong, fmt.Sprintf("%s is on record %d times", name, names[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(effects)) {
		if effects[name] && names[name] == 0 {
			wrong = append(wrong, name+" is not on record")
		}
	}
	return wrong
}
