package posthousetest

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Thread is a thread of an [Env], seen by a test. Its methods look at branch main.
type Thread struct {
	env  *Env
	name string
}

// Start begins a run of a program in a thread that is not there, with an input that is encoded as JSON,
// and lets it go on. A coordinator takes its message as a string. The test ends if the program
// refuses the input.
func (e *Env) Start(program, thread string, input any) *Thread {
	e.t.Helper()
	return e.StartBy(program, thread, input, "test")
}

// StartBy is [Env.Start] with the name of who asks for it.
func (e *Env) StartBy(program, thread string, input any, by string) *Thread {
	e.t.Helper()
	p, ok := e.now.programs[program].(posthouse.JSONStarter)
	if !ok {
		e.t.Fatalf("posthousetest: there is no program %q that begins with JSON", program)
	}
	data, err := json.Marshal(input)
	if err == nil {
		_, err = p.StartJSON(e.ctx, thread, data, &posthouse.StartOptions{By: by})
	}
	if err != nil {
		e.t.Fatalf("posthousetest: starting %s as %s: %v", program, thread, err)
	}
	e.Settle()
	return e.Thread(thread)
}

// Thread returns a thread by its name, which need not be there.
func (e *Env) Thread(name string) *Thread { return &Thread{e, name} }

// Name returns the thread's name.
func (t *Thread) Name() string { return t.name }

// Head returns the newest checkpoint of branch main. It ends the test if there is no such thread.
func (t *Thread) Head() *posthouse.Checkpoint {
	t.env.t.Helper()
	c, err := t.env.now.ledger.Latest(t.env.ctx, ledger.LatestQuery{Thread: t.name})
	if err != nil {
		t.env.t.Fatalf("posthousetest: thread %s: %v", t.name, err)
	}
	return c
}

// Status returns the thread's status, "" if there is no such thread.
func (t *Thread) Status() posthouse.Status {
	t.env.t.Helper()
	info, err := t.env.now.ledger.Thread(t.env.ctx, t.name)
	switch {
	case isNoThread(err):
		return ""
	case err != nil:
		t.env.t.Fatalf("posthousetest: thread %s: %v", t.name, err)
	}
	return info.Status
}

// Must ends the test unless the thread has a status. The failure says what the thread asked, what was
// answered, what it waits for and why it failed.
func (t *Thread) Must(want posthouse.Status) *Thread {
	t.env.t.Helper()
	if got := t.Status(); got != want {
		t.env.t.Fatalf("posthousetest: thread %s is %q, want %q\n%s", t.name, got, want, t.env.report(t.name))
	}
	return t
}

// Done is Must([posthouse.StatusDone]).
func (t *Thread) Done() *Thread {
	t.env.t.Helper()
	return t.Must(posthouse.StatusDone)
}

// Decode reads a part of the state at the head into v: "output" or "input" of a flow, a field of a
// graph's state by its name. It ends the test if there is no such part, or v does not fit.
func (t *Thread) Decode(part string, v any) {
	t.env.t.Helper()
	c := t.Head()
	value, ok := c.State[part]
	if !ok {
		t.env.t.Fatalf("posthousetest: the state of thread %s has no part %q", t.name, part)
	}
	if err := json.Unmarshal(value.Data, v); err != nil {
		t.env.t.Fatalf("posthousetest: part %q of thread %s: %v\n%s", part, t.name, err, value.Data)
	}
}

// Question returns the open question of a name, for a test that checks what people are shown, or decides by
// Ledger().Decide. The question may then stay open at the end. The test ends if the thread does not
// ask it.
func (t *Thread) Question(name string) *posthouse.Gate {
	t.env.t.Helper()
	for _, g := range t.env.openQuestions(t.name) {
		if isNamed(g, name) {
			t.env.looked[g.ID] = true
			return g
		}
	}
	t.env.t.Fatalf("posthousetest: thread %s does not ask %q\n%s", t.name, name, t.env.report(t.name))
	return nil
}

// Asked returns the names of all questions to people that the thread has asked, oldest first.
func (t *Thread) Asked() (names []string) {
	t.env.t.Helper()
	for _, g := range t.gates() {
		if g.AsksPeople() {
			names = append(names, g.Name)
		}
	}
	return names
}

// gates returns all gates of the thread, oldest first.
func (t *Thread) gates() (all []*posthouse.Gate) {
	t.env.t.Helper()
	for e, err := range t.env.now.ledger.Log(t.env.ctx, t.name, posthouse.Range{}) {
		if err != nil {
			t.env.t.Fatalf("posthousetest: the log of thread %s: %v", t.name, err)
		}
		for _, ev := range e.Events {
			if ev.Gate != nil {
				all = append(all, ev.Gate)
			}
		}
	}
	return all
}
