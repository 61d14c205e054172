package graph_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A witness watches what really runs. It knows effects by the names that the
// model gives them, on each line of history, and by nothing that a run could
// get wrong.
type witness struct {
	mu       sync.Mutex
	life     int             // of the process
	acked    map[string]bool // steps that a run was told to be on record
	ran      map[string]int  // in which life a step's function ran last
	keys     map[string]string
	done     map[string]int // in which life an execution returned without an error
	attempts map[string]int
	known    map[string]bool // lines of history that have been seen
	inherits func(thread, branch string) ([]string, error)
	events   int
	event    func(n int) // told of each node that begins
	wrong    []string
	diary    *os.File // where a process that is to be killed writes down what happens
}

func newWitness() *witness {
	return &witness{
		acked: map[string]bool{}, ran: map[string]int{}, keys: map[string]string{}, done: map[string]int{}, attempts: map[string]int{}, known: map[string]bool{}, life: 1,
	}
}

func (w *witness) blame(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	w.write("wrong", w.wrong[len(w.wrong)-1])
}

// write is one write to a file, which outlives this process whatever happens
// to it, and one to whoever is to kill it.
func (w *witness) write(verb string, what string) {
	if w.diary == nil {
		return
	}
	line := verb + " " + what + "\n"
	if _, err := w.diary.WriteString(line); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(line)
}

// began is told that the function of a step was called, and the key that it
// gives to whoever acts for it: whatever becomes of the process, that stays the
// same. Callers hold w.mu.
func (w *witness) began(where, name, given string) {
	key := where + " " + name
	switch {
	case w.acked[key]:
		w.blame("step %s is on record and was done again", key)
	case w.ran[key] == w.life:
		w.blame("step %s was done twice without a crash", key)
	}
	w.ran[key] = w.life
	if caller, _, ok := strings.Cut(where, "."); ok {
		key = caller + " " + name // the thread that a subgraph has of its own is part of what stays the same
	}
	if was := w.keys[key]; was != "" && was != given {
		w.blame("step %s had the key %s and then %s", key, was, given)
	}
	w.keys[key] = given
}

// line returns the line of history on which an execution happens, and learns
// what it has from the one it was forked from. Callers hold w.mu.
func (w *witness) line(ctx context.Context) string {
	t, _ := engine.From(ctx)
	thread, branch := t.Session().Thread(), t.Session().Branch()
	if gen := t.Session().Head().Generation; gen > 1 {
		return fmt.Sprint(thread, "~", branch, "^", gen) // it starts over
	}
	w.learn(thread, branch)
	return thread + "~" + branch
}

func (w *witness) learn(thread, branch string) {
	where := thread + "~" + branch
	if w.inherits == nil || w.known[where] {
		return
	}
	w.known[where] = true
	names, err := w.inherits(thread, branch)
	if err != nil {
		w.blame("what %s inherits: %v", where, err)
	}
	for _, n := range names {
		w.acked[where+" "+n] = true
	}
}

// step is a recorded step of an execution that notices if it is done again, or
// if it gets what another step returned.
func (w *witness) step(ctx context.Context, execution, name string) error {
	full, ran := execution+":"+name, false
	w.mu.Lock()
	where := w.line(ctx)
	w.mu.Unlock()
	v, err := step.Do(ctx, name, func(ctx context.Context) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		ran = true
		key := step.Key(ctx)
		w.write("began", where+" "+full+" "+key)
		w.began(where, full, key)
		return full, nil
	})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if v != full {
		w.blame("step %s of %s got the result of %s", full, where, v)
	}
	w.acked[where+" "+full] = true
	if ran {
		w.write("acked", where+" "+full)
	}
	return nil
}

// begin counts an attempt of an execution.
func (w *witness) begin(ctx context.Context, name string) (attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.line(ctx) + " " + name
	if w.done[key] == w.life {
		w.blame("execution %s had completed and ran again", key)
	}
	w.attempts[key]++
	w.events++
	if w.event != nil {
		w.event(w.events)
	}
	return w.attempts[key]
}

func (w *witness) completed(ctx context.Context, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[w.line(ctx)+" "+name] = w.life
}

// A segment is a part of a line of history: a branch up to an entry.
type segment struct {
	thread, branch string
	first, to      uint64 // first is the branch's first checkpoint, and what that inherits
}

// ancestry returns the stretches of a line of history, the newest first.
func ancestry(ctx context.Context, l *ledger.Ledger, thread, branch string) (all []segment, err error) {
	for to := ^uint64(0); thread != ""; {
		s := segment{thread, branch, 0, to}
		thread = ""
		for h, err := range l.List(ctx, posthouse.Query{Thread: s.thread, Branch: s.branch, Limit: 1}) {
			if err != nil {
				return nil, err
			}
			s.first = h.Seq
			if h.Source == nil {
				continue
			}
			from, err := l.GetHeader(ctx, h.Source.ID)
			if err != nil {
				return nil, err
			}
			thread, branch, to = from.Thread, from.Branch, from.Seq
		}
		all = append(all, s)
	}
	return all, nil
}

// recorded returns the names of the steps on record in stretches, each as often
// as it is there.
func recorded(ctx context.Context, l *ledger.Ledger, all []segment) (names []string, err error) {
	for _, s := range all {
		for e, err := range l.Log(ctx, s.thread, posthouse.Range{To: s.to}) {
			if err != nil {
				return nil, err
			}
			for i, r := range e.Records {
				var name string
				switch {
				case r.Step == nil || cmp.Or(r.Step.Branch, posthouse.MainBranch) != s.branch:
				case e.Seq == s.first && json.Unmarshal(e.Bodies[i], &name) == nil: // copied by a fork
				case json.Unmarshal(e.Bodies[i], &name) == nil:
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

// inherited returns the steps that a line has from those it was forked from.
func inherited(ctx context.Context, l *ledger.Ledger) func(thread, branch string) ([]string, error) {
	return func(thread, branch string) ([]string, error) {
		all, err := ancestry(ctx, l, thread, branch)
		if err != nil {
			return nil, err
		}
		return recorded(ctx, l, all[1:])
	}
}

// account compares what is on record of lines that are one run together with
// the effects that a model had, if they are known: each is there once. Some may
// be missing unless all lines are there.
func account(ctx context.Context, l *ledger.Ledger, lines [][2]string, effects map[string]bool, all bool) (wrong []string, err error) {
	have := map[string]int{}
	for _, at := range lines {
		stretches, err := ancestry(ctx, l, at[0], at[1])
		if err != nil {
			return nil, err
		}
		names, err := recorded(ctx, l, stretches)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			have[n]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := effects[name]; !ok && effects != nil {
			wrong = append(wrong, fmt.Sprintf("step %s is on record and should not have been done", name))
		}
		if have[name] > 1 {
			wrong = append(wrong, fmt.Sprintf("step %s is on record %d times", name, have[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(effects)) {
		if all && effects[name] && have[name] == 0 {
			wrong = append(wrong, fmt.Sprintf("step %s is not on record", name))
		}
	}
	return wrong, nil
}
