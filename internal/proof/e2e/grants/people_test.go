package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

// delegatesToCome are handed questions, and are not assigned any.
var delegatesToCome = []string{"ida", "jon"}

var people = []string{"ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal"}

// A decision is an approval as its people saw it.
type decision struct {
	asked     time.Time // the first question of its content; zero where that is not known
	gate      *posthouse.Gate
	content   []byte   // that they approved
	saw       []byte   // that they were shown
	delegates []string // to whom the right was handed on
}

// An act is what somebody does, or what happens to the processes. It draws from a source of its
// own, so that a case stays what it is when others are left out.
type act struct {
	name string
	of   int // in a hundred
	do   func(w *world, rnd *rand.Rand)
}

var acts = []act{
	{"resume", 22, (*world).resumeAll},
	{"decide", 30, (*world).decide},
	{"wait", 10, func(w *world, rnd *rand.Rand) { w.pass(time.Duration(1+rnd.IntN(30)) * time.Second) }},
	{"fork", 7, (*world).fork},
	{"replay", 3, (*world).replayOne},
	{"anew", 3, (*world).anew},
	{"update", 4, (*world).update},
	{"save", 2, (*world).save},
	{"ask again", 2, (*world).askAgain},
	{"copy", 2, (*world).copyThread},
	{"cancel", 2, (*world).cancel},
	{"withdraw", 2, (*world).withdraw},
	{"retry", 3, (*world).retry},
	{"signal", 4, (*world).signal},
	{"delegate", 3, (*world).delegate},
	{"run", 2, (*world).begin},
	{"restart", 3, func(w *world, _ *rand.Rand) { w.replace() }},
	{"lapse", 2, (*world).lapse},
	{"tidy", 3, (*world).tidy},
	{"release", 1, (*world).release},
	{"delete", 2, (*world).remove},
	{"import", 2, (*world).move},
	{"later", 3, func(w *world, rnd *rand.Rand) { w.skip(time.Duration(20+rnd.IntN(90)) * time.Minute) }},
}

// pick draws an act. A control arm has more of what shows it.
func pick(rnd *rand.Rand, s *spec) *act {
	of := func(a *act) int {
		switch {
		case s.arm == confirmed && a.name == "lapse", s.arm == kept && a.name == "tidy", s.bad == tooLate && a.name == "later":
			return 15
		case s.bad == tooEarly && a.name == "later":
			return 0
		case s.bad >= tooEarly && (a.name == "decide" || a.name == "resume"):
			return 60
		}
		return a.of
	}
	all := 0
	for i := range acts {
		all += of(&acts[i])
	}
	n := rnd.IntN(all)
	for i := range acts {
		if n -= of(&acts[i]); n < 0 {
			return &acts[i]
		}
	}
	return nil
}

func anyOf[T any](rnd *rand.Rand, all []T) T { return all[rnd.IntN(len(all))] }

// tell notes how an act ended. Errors that people are to be told are no fault.
func (w *world) tell(what string, err error) bool {
	code := "done"
	var e *posthouse.Error
	if err != nil {
		code = "refused"
		if errors.As(err, &e) {
			code = string(e.Code)
		}
	}
	w.witness.tally(what + " " + code)
	w.witness.verbose("%s: %v", what, err)
	return err == nil
}

func (w *world) begin(rnd *rand.Rand) {
	by := anyOf(rnd, people[:5])
	o := order{To: anyOf(rnd, []string{"shop", "sh\u202eop\u202c", "bank\u3164"}), Amount: 1 + rnd.IntN(300), By: []string{by}}
	thread := fmt.Sprint("t", rnd.IntN(3))
	w.witness.verbose("%s runs %s: %s", by, thread, encode(o))
	w.tell("run", w.here.program().run(w.ctx, thread, o, by))
}

// change is what somebody does to an order.
func change(rnd *rand.Rand, by string) func(*order) {
	to, amount := anyOf(rnd, []string{"shop", "mallory"}), 1+rnd.IntN(300)
	return func(o *order) { o.To, o.Amount, o.By = to, amount, append(slices.Clone(o.By), by) }
}

func (w *world) branches() (all [][2]string) {
	for info, err := range w.here.ledger.Threads(w.ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			w.tell("threads", err)
			return all
		}
		for _, b := range info.Branches {
			if !strings.HasPrefix(info.Thread, "$") {
				all = append(all, [2]string{info.Thread, b.Branch})
			}
		}
	}
	return all
}

// isFull bounds a case.
func (w *world) isFull() bool { return len(w.branches()) > 9 }

func (w *world) resumeAll(rnd *rand.Rand) {
	w.resumeIn(w.here, w.branches(), anyOf(rnd, append([]string{""}, people...)))
}

// resumeIn has a process go on with branches.
func (w *world) resumeIn(p *process, all [][2]string, by string) {
	app := p.program()
	for _, at := range all {
		if p.store.Dead() {
			return
		}
		w.witness.verbose("%q resumes %v in %s", by, at, p.name)
		w.witness.claims(placeOf(at[0], at[1]))
		w.tell("resume", app.resume(w.ctx, at[0], at[1], by))
	}
}

func (w *world) heads(rnd *rand.Rand) *posthouse.Header {
	var all []*posthouse.Header
	for h, err := range w.here.ledger.List(w.ctx, posthouse.Query{}) {
		if err != nil {
			w.tell("list", err)
			return nil
		}
		all = append(all, h)
	}
	if len(all) == 0 || w.isFull() {
		return nil
	}
	return anyOf(rnd, all)
}

func (w *world) fork(rnd *rand.Rand) {
	h := w.heads(rnd)
	if h == nil {
		return
	}
	by, thread := anyOf(rnd, people), ""
	if rnd.IntN(3) == 0 {
		thread = fmt.Sprint("away", rnd.Uint32())
	}
	var f func(*order)
	if rnd.IntN(2) == 0 {
		f = change(rnd, by)
	}
	w.witness.verbose("%s forks %s %s of %s~%s to %s, changed %v", by, h.Kind, h.Status, h.Thread, h.Branch, thread, f != nil)
	w.tell("fork", w.here.program().fork(w.ctx, h.ID, f, thread, by))
}

func (w *world) replayOne(rnd *rand.Rand) {
	if h := w.heads(rnd); h != nil {
		w.tell("replay", w.here.program().replay(w.ctx, h.ID, anyOf(rnd, people)))
	}
}

func placeOf(thread, branch string) string {
	escape := func(name string) string {
		return strings.NewReplacer("@", "%40", "~", "%7E").Replace(posthouse.EscapeName(name))
	}
	if branch == posthouse.MainBranch {
		return escape(thread)
	}
	return escape(thread) + "~" + escape(branch)
}

func (w *world) anew(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 {
		return
	}
	at := anyOf(rnd, all)
	h, err := w.here.ledger.Latest(w.ctx, ledger.LatestQuery{Thread: at[0], Branch: at[1]})
	if err == nil {
		w.witness.dropped(placeOf(at[0], at[1]))
		_, err = w.here.ledger.RestartStep(w.ctx, h.ID, &ledger.RestartStepOptions{By: anyOf(rnd, people)})
	}
	w.tell("anew", err)
}

func (w *world) update(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 || !w.graph {
		return
	}
	at, by := anyOf(rnd, all), anyOf(rnd, people)
	w.witness.dropped(placeOf(at[0], at[1]))
	w.witness.verbose("%s updates %v", by, at)
	w.tell("update", w.here.program().update(w.ctx, at[0], at[1], change(rnd, by), by))
}

// save writes a state by hand.
func (w *world) save(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 || !w.graph {
		return
	}
	at, by := anyOf(rnd, all), anyOf(rnd, people)
	c, err := w.here.ledger.Latest(w.ctx, ledger.LatestQuery{Thread: at[0], Branch: at[1]})
	if err != nil || c.State["By"].Data == nil {
		return
	}
	var had []string
	w.must(json.Unmarshal(c.State["By"].Data, &had))
	state := maps.Clone(c.State)
	state["Amount"] = posthouse.Value{Codec: "json", Data: fmt.Append(nil, 1+rnd.IntN(300))}
	state["By"] = posthouse.Value{Codec: "json", Data: encode(append(had, by))}
	next := *c
	next.ID, next.Parent, next.Kind, next.By, next.State, next.Gates, next.Source = "", c.ID, posthouse.KindSave, by, state, nil, nil
	if next.Status == posthouse.StatusWaiting {
		next.Status = posthouse.StatusInterrupted
	}
	w.witness.dropped(placeOf(at[0], at[1]))
	what, opt := "save", (*ledger.SaveOptions)(nil)
	switch n := rnd.IntN(6); {
	case n == 0:
		what, opt = "revise", &ledger.SaveOptions{Replace: true}
		next.ID, next.Parent = c.ID, c.Parent
	case n == 1 && at[1] == posthouse.MainBranch:
		what, next.Parent = "save root", ""
	}
	w.witness.verbose("%s: %s %v", by, what, at)
	_, err = w.here.ledger.Save(w.ctx, &next, opt)
	w.tell(what, err)
}

func (w *world) askAgain(rnd *rand.Rand) {
	if len(w.asked) == 0 {
		return
	}
	_, err := w.here.ledger.AskAgain(w.ctx, anyOf(rnd, w.asked), &ledger.AskAgainOptions{By: anyOf(rnd, people)})
	w.tell("ask again", err)
}

func (w *world) copyThread(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 || w.isFull() {
		return
	}
	_, err := transfer.CopyThread(w.ctx, w.here.ledger, anyOf(rnd, all)[0], fmt.Sprint("copy", rnd.Uint32()), nil)
	w.tell("copy", err)
}

func (w *world) cancel(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 {
		return
	}
	at := anyOf(rnd, all)
	_, err := w.here.ledger.Cancel(w.ctx, at[0], &ledger.CancelOptions{Branch: at[1], By: anyOf(rnd, people)})
	w.tell("cancel", err)
}

func (w *world) gates(kinds ...string) (all []*posthouse.Gate) {
	for g, err := range w.here.ledger.Gates(w.ctx, ledger.GateQuery{}) {
		if err != nil {
			w.tell("gates", err)
			return all
		}
		if len(kinds) == 0 || slices.Contains(kinds, g.Kind) {
			all = append(all, g)
		}
	}
	return all
}

func (w *world) withdraw(rnd *rand.Rand) {
	all := w.gates()
	if len(all) == 0 {
		return
	}
	id := anyOf(rnd, all).ID
	w.asked = append(w.asked, id)
	_, err := w.here.ledger.Withdraw(w.ctx, id, ledger.Withdrawal{By: anyOf(rnd, people), Operator: true})
	w.tell("withdraw", err)
}

// retry has a task go on that failed for good, also one of a thread that has ended.
func (w *world) retry(rnd *rand.Rand) {
	var all []*posthouse.Gate
	for _, at := range w.branches() {
		h, err := w.here.ledger.Latest(w.ctx, ledger.LatestQuery{Thread: at[0], Branch: at[1]})
		if err != nil {
			continue
		}
		failed, err := ledger.FailedTasks(w.ctx, w.here.ledger, &h.Header)
		if err == nil {
			all = append(all, failed...)
		}
	}
	all = append(all, w.tasks...)
	if len(all) == 0 {
		return
	}
	g := anyOf(rnd, all)
	_, err := ledger.RetryTask(w.ctx, w.here.ledger, g.ID, &ledger.RetryOptions{By: anyOf(rnd, people)})
	w.tell("retry", err)
}

func (w *world) signal(rnd *rand.Rand) {
	all := w.branches()
	if len(all) == 0 {
		return
	}
	by := anyOf(rnd, people)
	s := posthouse.Signal{Name: anyOf(rnd, []string{"payee", "payee", "cleared"}), By: by, Value: encode(order{To: "mallory", By: []string{by}})}
	_, err := w.here.ledger.Signal(w.ctx, anyOf(rnd, all)[0], s)
	w.tell("signal", err)
}

func (w *world) delegate(rnd *rand.Rand) {
	all := w.gates("", posthouse.GateApproval)
	if len(all) == 0 {
		return
	}
	g := anyOf(rnd, all)
	by := anyOf(rnd, people)
	if len(g.Assignees) > 0 {
		by = anyOf(rnd, g.Assignees)
	}
	to := anyOf(rnd, append(slices.Clone(delegatesToCome), "ann", "fay"))
	if _, err := w.here.ledger.Delegate(w.ctx, g.ID, posthouse.Delegation{By: by, To: to}); w.tell("delegate", err) {
		w.delegates[g.ID] = append(w.delegates[g.ID], to)
	}
}

// see is what a person sees of a value: invisible characters are marked. The viewer of the
// control arm drops them.
func (w *world) see(payload json.RawMessage) []byte {
	if w.witness.arm == shown {
		return []byte(strings.Map(func(r rune) rune {
			if text.Hidden(r) {
				return -1
			}
			return r
		}, string(canonical(payload))))
	}
	return []byte(text.Visible(string(canonical(payload))))
}

// decide answers some open question, somehow.
func (w *world) decide(rnd *rand.Rand) {
	all := slices.DeleteFunc(w.gates(), func(g *posthouse.Gate) bool { return !g.AsksPeople() })
	if len(all) == 0 {
		return
	}
	g := anyOf(rnd, all)
	if g.Supersedes != "" {
		w.witness.tally("asked again")
	}
	if g.Kind == gate.KindOutcome {
		w.judge(g, rnd)
		return
	}
	who := append(append(slices.Clone(delegatesToCome), people...), g.Assignees...)
	asked, known := w.firstAsked(g)
	if g.Escalation != nil {
		who = append(who, substitute, substitute, substitute)
	}
	if !known {
		asked = time.Time{}
	}
	for range 1 + rnd.IntN(6) { // whoever comes
		d := posthouse.Decision{By: anyOf(rnd, who), Verdict: posthouse.Approve}
		seen := g.Payload
		switch r := rnd.IntN(10); {
		case r == 0:
			d.Verdict = posthouse.Reject
		case r < 4 && g.Allows(posthouse.Edit) && g.Quorum == nil && g.Uses > 0:
			var c payment
			w.must(json.Unmarshal(g.Payload, &c))
			c.Amount = 1 + rnd.IntN(300)
			d.Verdict, d.Value = posthouse.Edit, encode(c)
			seen = d.Value
		}
		got, err := w.here.ledger.Decide(w.ctx, g.ID, d)
		what := string(d.Verdict)
		if g.Kind != "" && g.Kind != posthouse.GateApproval {
			what += " of " + g.Kind
		}
		w.tell(what, err)
		if late := w.now().Sub(asked); known && d.By == substitute && late > patience+time.Second && errors.Is(err, posthouse.ErrForbidden) {
			w.witness.fault(assigned, "%s may not decide %s, %s after the first question: %v", d.By, g.ID, late, err)
		}
		w.witness.verbose("%s about %s of %s, requested by %v", d.By, g.ID, placeOf(g.Thread, g.Branch), g.RequesterNames())
		if errors.Is(err, posthouse.ErrUnknown) { // its process was lost: it may be on record
			got, err = w.lookUp(g.ID)
			if err == nil && (got.Decision == nil || got.Decision.By != d.By) {
				return
			}
		}
		if err == nil && got.Decision != nil && (d.Verdict == posthouse.Approve || d.Verdict == posthouse.Edit) {
			w.decided[g.ID] = &decision{asked: asked, gate: got, content: canonical(seen), saw: w.see(seen), delegates: w.delegates[g.ID]}
		}
		if err == nil && got.Decision != nil || errors.Is(err, posthouse.ErrDecided) {
			return
		}
	}
}

// lookUp reads a gate past the process.
func (w *world) lookUp(id posthouse.ID) (*posthouse.Gate, error) {
	l, err := ledger.Open(w.below, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Gate(w.ctx, id)
}

// judge says what became of an effect with an unknown outcome.
func (w *world) judge(g *posthouse.Gate, rnd *rand.Rand) {
	var c payment
	w.must(json.Unmarshal(g.Payload, &c))
	at := placeOf(g.Thread, g.Branch)
	happened, redo, giveUp := outcomeVerdicts(g)
	d := posthouse.Decision{By: anyOf(rnd, append(slices.Clone(g.Assignees), people...)), Verdict: redo}
	switch {
	case w.witness.truth(at, c.Deal, g.Payload):
		d.Verdict, d.Value = happened, json.RawMessage(`"by hand"`)
	case rnd.IntN(4) == 0, !g.Allows(redo): // an ended thread does nothing more
		d.Verdict = giveUp
	}
	got, err := w.here.ledger.Decide(w.ctx, g.ID, d)
	w.tell("outcome "+outcomeWords[d.Verdict], err)
	switch {
	case err == nil && got.Decision == nil: // a vote
	case err == nil && d.Verdict == redo, errors.Is(err, posthouse.ErrUnknown):
		w.witness.noteUndone(at, c.Deal, g.Payload)
	case err == nil:
		w.witness.noteSettled(at, c.Deal, g.Payload)
	}
}

// outcomeVerdicts are the answers to a question about an outcome. Older questions have those of
// approvals.
func outcomeVerdicts(g *posthouse.Gate) (happened, redo, giveUp posthouse.Verdict) {
	if g.Allows("give-up") {
		return "happened", "redo", "give-up"
	}
	return posthouse.Respond, posthouse.Approve, posthouse.Reject
}

// outcomeWords are how these are counted.
var outcomeWords = map[posthouse.Verdict]string{
	"happened": "happened", posthouse.Respond: "happened", "redo": "redo", posthouse.Approve: "redo", "give-up": "given up", posthouse.Reject: "given up",
}

// lapse cuts a process off that goes on with what there is, for longer than its lease. Another
// process takes over. Then the first one is answered. Programs with steps beside each other are
// left out: where one of them stalls, the others wait at its lock, and time would not pass in the
// bubble. So are graphs whose nodes have a timeout: after it the graph goes on without the node that
// stalls, and waits at that node's lock.
func (w *world) lapse(rnd *rand.Rand) {
	if !w.shared || slices.ContainsFunc(w.deals, func(d deal) bool { return d.beside || d.mapped || d.sibling || w.graph && d.timeout }) {
		return
	}
	old, all := w.here, w.branches()
	w.setHere(nil)
	old.stopEngine()
	w.pass(time.Second)
	old.conn.CutAfter(1 + rnd.IntN(8))
	ended := make(chan struct{})
	go func() { defer close(ended); w.resumeIn(old, all, "") }()
	synctest.Wait()
	old.conn.CutAfter(0)
	old.conn.Cut()
	w.setHere(w.start())
	w.pass(6 * time.Second)
	w.resumeAll(rnd)
	w.decide(rnd)
	w.resumeAll(rnd)
	old.conn.Heal()
	<-ended
	w.pass(time.Second)
	old.stop()
	w.witness.tally("process was cut off")
}

// tidy has a policy remove what it may.
func (w *world) tidy(rnd *rand.Rand) {
	before := w.unfinished()
	defer func() {
		for _, thread := range before {
			if _, err := w.here.ledger.Thread(w.ctx, thread); errors.Is(err, posthouse.ErrNotFound) {
				w.removed[thread] = true
			}
		}
	}()
	if w.witness.arm == kept { // a retention that does not look at approvals
		for _, thread := range before {
			_, err := retain.DeleteThread(w.ctx, w.here.ledger, thread, nil)
			w.tell("delete", err)
		}
		return
	}
	policy := anyOf(rnd, []retain.Policy{{MaxAge: time.Hour}, {MaxPerThread: 1}, {MaxPerThread: 3}, {MaxAge: time.Minute, DropSources: true}})
	for info := range w.here.ledger.Threads(w.ctx, posthouse.ThreadQuery{}) {
		for _, b := range info.Branches {
			w.witness.verbose("%s~%s is %s", info.Thread, b.Branch, b.Status)
		}
	}
	w.witness.verbose("retention by %+v", policy)
	_, err := retain.Run(w.ctx, w.here.ledger, policy, nil)
	w.tell("retention", err)
	if _, err := retain.Compact(w.ctx, w.here.ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		w.tell("compact", err)
	}
}

// unfinished returns the threads with a branch that is neither done nor cancelled.
func (w *world) unfinished() (all []string) {
	for info, err := range w.here.ledger.Threads(w.ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			w.tell("threads", err)
			return all
		}
		if slices.ContainsFunc(info.Branches, func(b posthouse.BranchHead) bool {
			return b.Status != posthouse.StatusDone && b.Status != posthouse.StatusCancelled
		}) {
			all = append(all, info.Thread)
		}
	}
	return all
}
