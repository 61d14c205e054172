package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A trace is what a thread has on record, a line for each record, and its final state. It
// leaves out what may differ from run to run: ids, times, who did it, claims of the thread,
// and attempts of tasks that came to nothing.
type trace []string

// traceOf reads a thread, and checks its log.
func traceOf(ctx context.Context, l *ledger.Ledger, thread string) (trace, error) {
	t := tracer{checkpoints: map[posthouse.ID]int{}, gates: map[posthouse.ID]string{}, replaced: map[posthouse.ID]bool{}}
	var head posthouse.ID
	for e, err := range l.Log(ctx, thread, posthouse.Range{}) {
		if err != nil {
			return nil, err
		}
		for i, ev := range e.Events {
			t.add(ev, e.Bodies[i])
			if ev.Checkpoint != nil {
				head = ev.Checkpoint.ID
			}
		}
	}
	c, err := l.Get(ctx, head)
	if err != nil {
		return nil, err
	}
	for _, s := range []posthouse.State{c.State, c.Program} {
		for _, name := range slices.Sorted(maps.Keys(s)) {
			t.line("in the end %s is %s (%s)", name, s[name].Data, s[name].Codec)
		}
	}
	return t.lines, nil
}

// A tracer reads a log from its begin.
type tracer struct {
	lines       trace
	checkpoints map[posthouse.ID]int // by their place
	gates       map[posthouse.ID]string
	replaced    map[posthouse.ID]bool // gates of attempts that came to nothing
}

func (t *tracer) line(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *tracer) add(e *posthouse.Event, body []byte) {
	switch {
	case e.Claim != nil:
	case e.Checkpoint != nil:
		c := e.Checkpoint
		t.checkpoints[c.ID] = len(t.checkpoints) + 1
		t.line("checkpoint %d behind %d: %s, %s, node %q, next %q, step %d, branch %s, run %s, %d gates",
			len(t.checkpoints), t.checkpoints[c.Parent], c.Kind, c.Status, c.Node, c.Next, c.Step, c.Branch, c.Run, len(c.Gates))
	case e.Step != nil && strings.Contains(e.Step.Name, ">$"): // attempts of an effect
	case e.Step != nil:
		t.line("step %s of %s, %d, is %s", e.Step.Name, e.Step.Task, e.Step.Occurrence, body)
	case e.Gate != nil && e.Gate.Call != nil && e.Gate.Supersedes != "":
		t.gates[e.Gate.ID], t.replaced[e.Gate.Supersedes] = t.gates[e.Gate.Supersedes], true
	case e.Gate != nil:
		t.gates[e.Gate.ID] = fmt.Sprintf("%s %s of %s, %d", e.Gate.Kind, e.Gate.Name, e.Gate.Task, e.Gate.Occurrence)
		t.line("%s is asked %s", t.gates[e.Gate.ID], e.Gate.Payload)
	case e.Decision != nil && !t.replaced[e.Decision.Gate]:
		t.line("%s: %s %s", t.gates[e.Decision.Gate], e.Decision.Verdict, e.Decision.Value)
	case e.Decision == nil:
		t.line("%s", e.Kind)
	}
}

// results returns the lines about results of steps and the final state.
func (t trace) results() (lines trace) {
	for _, l := range t {
		if strings.HasPrefix(l, "step ") || strings.HasPrefix(l, "in the end ") {
			lines = append(lines, l)
		}
	}
	return lines
}

// differs says where a trace is not the other, or "".
func (t trace) differs(from trace) string {
	for i := range max(len(t), len(from)) {
		have, want := "nothing", "nothing"
		if i < len(t) {
			have = t[i]
		}
		if i < len(from) {
			want = from[i]
		}
		if have != want {
			return fmt.Sprintf("on record is %s, want %s", have, want)
		}
	}
	return ""
}
