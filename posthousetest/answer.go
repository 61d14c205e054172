package posthousetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
)

// Approve is the decision to go on as proposed.
func Approve(by string) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Approve, By: by}
}

// Reject is the decision not to, with a reason.
func Reject(by, reason string) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Reject, By: by, Reason: reason}
}

// Edit is the decision to go on with changed values. It panics if v does not encode as JSON.
func Edit(by string, v any) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Edit, By: by, Value: encode(v)}
}

// Respond is an answer in place of the action. It panics if v does not encode as JSON.
func Respond(by string, v any) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Respond, By: by, Value: encode(v)}
}

// Happened says of an effect with an unknown outcome that it was done, with its result. It panics if v
// does not encode as JSON.
func Happened(by string, v any) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Happened, By: by, Value: encode(v)}
}

// Redo has an effect with an unknown outcome done again.
func Redo(by string) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Redo, By: by}
}

// GiveUp leaves an effect with an unknown outcome permanently, with a reason.
func GiveUp(by, reason string) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.GiveUp, By: by, Reason: reason}
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("posthousetest: a value of type %T does not encode: %v", v, err))
	}
	return data
}

// A scripted answer waits for its question.
type scripted struct {
	name string
	d    posthouse.Decision
}

func (s *scripted) String() string {
	name := s.name
	if name == "" {
		name = "any question"
	}
	return fmt.Sprintf("%q: %s by %s", name, s.d.Verdict, s.d.By)
}

// Answer decides the next question of a name, in any thread; "" is a question of any name. A
// question that is open is decided now, and one that comes later when it is asked. Each answer is used once:
// the answers of a name are used in the order in which they were given, and those of a quorum are votes. A
// decision that the Ledger refuses fails the test; use Ledger().Decide to test a refusal.
func (e *Env) Answer(name string, d posthouse.Decision) {
	e.t.Helper()
	e.script = append(e.script, &scripted{name, d})
	e.Settle()
}

// answerNext gives one answer to an open question, if there is one for it.
func (e *Env) answerNext() bool {
	e.t.Helper()
	for _, g := range e.openQuestions("") {
		d, ok := e.take(g)
		if !ok {
			continue
		}
		if err := e.answer(g, d); err != nil {
			e.t.Fatalf("posthousetest: %s by %s is refused: %v\n%s", d.Verdict, d.By, err, e.report(g.Thread))
		}
		return true
	}
	return false
}

// answer decides a question, or withdraws it as an operator does.
func (e *Env) answer(g *posthouse.Gate, d posthouse.Decision) (err error) {
	if d.Verdict == posthouse.Cancel {
		_, err = e.now.ledger.Withdraw(e.ctx, g.ID, ledger.Withdrawal{By: d.By, Actor: d.Actor, Reason: d.Reason, Operator: true, Shown: d.Shown})
	} else {
		_, err = e.now.ledger.Decide(e.ctx, g.ID, d)
	}
	return err
}

// take takes the answer to a question out of the script, or asks the tools what became of an effect.
func (e *Env) take(g *posthouse.Gate) (posthouse.Decision, bool) {
	i := slices.IndexFunc(e.script, func(s *scripted) bool {
		return isNamed(g, s.name) || s.name == "" && g.Kind != gate.KindOutcome
	})
	if i >= 0 {
		d := e.script[i].d
		e.script = slices.Delete(e.script, i, i+1)
		return d, true
	}
	if g.Kind != gate.KindOutcome || len(e.opt.Tools) == 0 {
		return posthouse.Decision{}, false
	}
	for _, tool := range e.opt.Tools {
		if result, happened := tool.outcome(g.Payload); happened {
			return posthouse.Decision{Verdict: posthouse.Happened, By: settler(g), Value: result, Reason: "the tool was called"}, true
		}
	}
	return posthouse.Decision{Verdict: posthouse.Redo, By: settler(g), Reason: "no tool was called"}, true
}

// settler returns who says what became of an effect: somebody who may.
func settler(g *posthouse.Gate) string {
	for _, name := range g.Assignees {
		if !g.Requests(name) {
			return name
		}
	}
	return "tools"
}

// isNamed reports whether a question has a name: in full, or within the step or effect that asks it.
// A second question about the outcome of one effect has a number, and the name of the first.
func isNamed(g *posthouse.Gate, name string) bool {
	return g.Name == name || g.Name[strings.LastIndexByte(g.Name, '>')+1:] == name || g.Kind == gate.KindOutcome && name == gate.KindOutcome
}

// openQuestions returns what waits for people, the oldest first, in one thread or in all.
func (e *Env) openQuestions(thread string) (all []*posthouse.Gate) {
	e.t.Helper()
	for g, err := range e.now.ledger.Gates(e.ctx, ledger.GateQuery{Thread: thread}) {
		if err != nil {
			e.t.Fatalf("posthousetest: the questions cannot be read: %v", err)
		}
		all = append(all, g)
	}
	return all
}

// checkScript fails the test for answers without a question, and questions without an answer.
func (e *Env) checkScript() {
	e.t.Helper()
	var faults []string
	for _, s := range e.script {
		faults = append(faults, "no question took the answer "+s.String())
	}
	for _, g := range e.openQuestions("") {
		if !e.looked[g.ID] {
			faults = append(faults, "nobody answered "+question(g)+" of thread "+g.Thread)
		}
	}
	if len(faults) > 0 {
		e.t.Errorf("posthousetest: at the end of the test\n  %s\n%s", strings.Join(faults, "\n  "), e.report(""))
	}
}

// report says what a thread, or each, asked and waits for, for a test that fails.
func (e *Env) report(thread string) string {
	var b strings.Builder
	for t, err := range e.now.ledger.Threads(e.ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			fmt.Fprintf(&b, "the threads cannot be read: %v\n", err)
			break
		}
		fmt.Fprintf(&b, "thread %s is %s\n", t.Thread, t.Status)
		if err := e.reportLog(&b, t); err != nil {
			fmt.Fprintf(&b, "  its log cannot be read: %v\n", err)
		}
	}
	for _, s := range e.script {
		fmt.Fprintf(&b, "not used: the answer %s\n", s)
	}
	return b.String()
}

// reportLog says what a thread asked, what was decided, and why it failed.
func (e *Env) reportLog(b *strings.Builder, t *posthouse.ThreadInfo) error {
	decided := map[posthouse.ID]*posthouse.Decision{}
	var asked []*posthouse.Gate
	for entry, err := range e.now.ledger.Log(e.ctx, t.Thread, posthouse.Range{}) {
		if err != nil {
			return err
		}
		for _, ev := range entry.Events {
			switch {
			case ev.Gate != nil:
				asked = append(asked, ev.Gate)
			case ev.Decision != nil:
				decided[ev.Decision.Gate] = ev.Decision
			case ev.Checkpoint != nil && ev.Checkpoint.Error != "":
				fmt.Fprintf(b, "  failed at %s: %s\n", ev.Checkpoint.Node, ev.Checkpoint.Error)
			}
		}
	}
	for _, g := range asked {
		d := decided[g.ID]
		switch {
		case d == nil:
			fmt.Fprintf(b, "  waits for %s%s\n", question(g), until(g))
		case g.AsksPeople():
			fmt.Fprintf(b, "  asked %s: %s by %s\n", question(g), d.Verdict, d.By)
		}
	}
	return nil
}

func until(g *posthouse.Gate) string {
	if g.ExpiresAt.IsZero() {
		return ""
	}
	return ", until " + g.ExpiresAt.UTC().Format(time.RFC3339)
}

// question shows a gate in one line.
func question(g *posthouse.Gate) string {
	switch g.Kind {
	case posthouse.GateTimer:
		return "the time of " + fmt.Sprintf("%q", g.Name)
	case posthouse.GateSignal:
		return fmt.Sprintf("the signal %q", g.Signal)
	case posthouse.GateThread:
		return "thread " + g.Text
	case posthouse.GateTask:
		return fmt.Sprintf("a worker for task %q", g.Call.Task)
	}
	s := fmt.Sprintf("question %q", g.Name)
	if g.Text != "" {
		s += " (" + gate.Intent(g) + ")"
	}
	if len(g.Payload) > 0 {
		s += " about " + string(g.Payload)
	}
	return s
}

// isNoThread reports whether an error says that there is no such thread.
func isNoThread(err error) bool { return errors.Is(err, posthouse.ErrNotFound) }
