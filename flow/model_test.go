package flow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
)

// This file is a flow as a plain program would run it: no ledger, no faults,
// each answer as soon as it is asked for. TestRandomFlows compares the two.

type opKind int

const (
	opDo      opKind = iota
	opSwallow        // a step that fails, and the function goes on
	opClock          // step.Now, step.NewID
	opSleep
	opAsk    // Body if the answer is yes, Else if not
	opSignal // the next of the name that all share
	opLate   // a signal that does not come in time
	opNested // a step over Body
	opGroup  // a named step beside the others for each of Body
	opMap    // a step for each of Times items
	opLoop   // Body, so many Times
	opKinds
)

// An op is a statement of a flow.
type op struct {
	Kind    opKind
	Name    string            `json:",omitempty"`
	Step    string            `json:",omitempty"` // the step's name, if it is not Name
	Fails   int               `json:",omitempty"` // the first so many attempts
	Panics  bool              `json:",omitempty"`
	Retry   int               `json:",omitempty"`
	Delay   time.Duration     `json:",omitempty"` // between attempts; 0: no delay
	Verdict posthouse.Verdict `json:",omitempty"` // what people say
	Times   int               `json:",omitempty"`
	Limit   int               `json:",omitempty"`
	Body    []*op             `json:",omitempty"`
	Else    []*op             `json:",omitempty"`
}

// A program is a flow's function.
type program []*op

// GoString makes a failure readable.
func (p program) GoString() string {
	b, _ := json.Marshal(p)
	return string(b)
}

func (o *op) step() string {
	if o.Step != "" {
		return o.Step
	}
	return o.Name
}

// where an operation may stand.
type where struct {
	depth  int
	beside bool // others: in what order they take signals is left to chance
}

// A composer draws programs, and names what is in them.
type composer struct {
	*rapid.T
	names int
}

func (c *composer) between(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(c.T, label)
}

func (c *composer) chance(label string, of int) bool { return c.between(label, 1, of) == of }

func genProgram() *rapid.Generator[program] {
	return rapid.Custom(func(t *rapid.T) program {
		c := &composer{T: t}
		return c.ops(1, 6, where{})
	})
}

func (c *composer) ops(least, most int, at where) (all []*op) {
	for range c.between("size", least, most) {
		all = append(all, c.op(at))
	}
	return all
}

func (c *composer) op(at where) *op {
	kinds := opKinds
	if at.depth == 2 {
		kinds = opNested
	}
	o := &op{Kind: opKind(c.between("kind", 0, int(kinds)-1)), Name: fmt.Sprintf("%c%d", 'a'+at.depth, c.names)}
	c.names++
	if o.Kind == opSignal && at.beside {
		o.Kind = opLate
	}
	within := where{at.depth + 1, at.beside}
	switch o.Kind {
	case opDo:
		if c.chance("same", 4) {
			o.Step = "same"
		}
		c.failing(o)
	case opSwallow:
		o.Fails = c.between("times", 1, 2)
	case opSleep:
		o.Delay = time.Duration(c.between("nap", -1, 2)) * time.Hour
	case opAsk:
		o.Verdict = rapid.SampledFrom([]posthouse.Verdict{posthouse.Approve, posthouse.Approve, posthouse.Reject, posthouse.Respond, posthouse.Expire}).Draw(c.T, "verdict")
		if at.depth < 2 {
			o.Body, o.Else = c.ops(0, 2, within), c.ops(0, 2, within)
		}
	case opNested:
		o.Body = c.ops(0, 3, within)
		c.failing(o)
	case opGroup:
		o.Limit = c.between("limit", 1, 3)
		for range c.between("members", 1, 3) {
			m := &op{Kind: opNested, Name: fmt.Sprint("m", c.names), Body: c.ops(0, 2, where{at.depth + 1, true})}
			c.names++
			c.failing(m)
			m.Retry, m.Delay = 0, 0
			o.Body = append(o.Body, m)
		}
		if c.chance("retries", 3) {
			o.Retry = c.between("retry", 1, 2)
		}
	case opMap:
		o.Times, o.Limit = c.between("items", 0, 4), c.between("limit", 1, 3)
		c.failing(o)
	case opLoop:
		o.Times, o.Body = c.between("rounds", 0, 3), c.ops(1, 2, within)
	}
	return o
}

func (c *composer) failing(o *op) {
	if !c.chance("fails", 3) {
		return
	}
	o.Fails, o.Panics, o.Retry = c.between("times", 1, 3), c.chance("panics", 4), c.between("retry", 0, 3)
	if o.Retry > 0 && c.chance("delay", 3) {
		o.Delay = time.Minute
	}
}

// An output is what a flow returns.
type output struct {
	N    int // executions of the thread, with this one
	Text string
}

// A model runs programs. Within a thread an operation is named by its path: the
// execution, the operations it is in, and its name.
type model struct {
	effects map[string]bool // names of steps that are done, once each; false for those that may be left out
	signals map[string]int  // which of the thread's signals an operation takes
	taken   int
	ran     int
}

func newModel() *model { return &model{effects: map[string]bool{}, signals: map[string]int{}} }

// execute returns what one execution of a program comes to.
func (m *model) execute(p program, n int) string {
	return strings.Join(m.run(p, fmt.Sprint("x", n)), " ")
}

func (m *model) run(ops []*op, path string) (out []string) {
	for _, o := range ops {
		out = append(out, m.perform(o, path+"/"+o.Name)...)
	}
	return out
}

func (m *model) perform(o *op, path string) (out []string) {
	m.ran++
	switch o.Kind {
	case opDo:
		m.effects[path] = true
		return []string{path}
	case opSwallow:
		m.effects[path] = false
		return []string{path}
	case opAsk:
		body := o.Else
		if o.Verdict == posthouse.Approve {
			body = o.Body
		}
		return append([]string{path + ":" + string(o.Verdict)}, m.run(body, path)...)
	case opSignal:
		m.taken++
		m.signals[path] = m.taken
		return []string{fmt.Sprint(path, ":s", m.taken)}
	case opLate:
		return []string{path + ":late"}
	case opNested:
		m.effects[path] = true
		return append([]string{path}, m.run(o.Body, path)...)
	case opGroup:
		return m.run(o.Body, path)
	case opMap:
		for i := range o.Times {
			name := fmt.Sprint(path, "#", i)
			m.effects[name] = true
			out = append(out, name)
		}
	case opLoop:
		for i := range o.Times {
			out = append(out, m.run(o.Body, fmt.Sprint(path, "[", i, "]"))...)
		}
	}
	return out
}
