package commit

import (
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// CheckSettled refuses a change that leaves an effect behind whose outcome is unknown, or that a
// worker is at: nobody would be asked about it any more. It is [posthouse.ErrConflict], which names
// the question. branch "" is all branches.
func CheckSettled(tx *core.Tx, branch string) error {
	for _, w := range tx.Thread.Info.Waiting {
		if w.Kind == posthouse.GateOutcome && (branch == "" || w.Branch == branch) {
			return unsettledError(tx, w.ID, "the outcome of an effect of branch "+w.Branch+" is unknown", "answer gate "+string(w.ID)+" first")
		}
	}
	return eachUnsettled(tx, branch, nil, func(u *unsettled) error {
		if !u.asks {
			return unsettledError(tx, u.under, "a worker is at effect "+u.call+" of branch "+u.branch, "wait for its verdict, or cancel the task")
		}
		return unsettledError(tx, u.under, "the outcome of effect "+u.call+" of branch "+u.branch+" is unknown", "resume the thread: the program finds out, or people are asked")
	})
}

func unsettledError(tx *core.Tx, gate posthouse.ID, what, hint string) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: gate, Tail: &tx.Thread.Info.Tail,
		Message: what + ": thread " + tx.Thread.Name + " stays as it is until that is settled", Hint: hint,
	}
}

// An unsettled effect may have happened, or a worker is at it.
type unsettled struct {
	branch, task string
	call         string // in full, as in "pay[1]"
	under        posthouse.ID
	use          *effect.Use
	asks         bool // its outcome is unknown, and people are to be asked

	class   posthouse.Effect
	marked  bool            // this entry has the record that its outcome is unknown
	handler *posthouse.Gate // the task that began the newest attempt in its handler; nil: the program did
	looks   *posthouse.Gate // the timer of the program's next look at it, nil if it does not look
}

// with returns an execution in which a task's gate has the decision that is being recorded.
func with(x *threadlog.Execution, ended *posthouse.Gate) *threadlog.Execution {
	if ended == nil {
		return x
	}
	i := slices.IndexFunc(x.Gates, func(g *posthouse.Gate) bool { return g.ID == ended.ID })
	if i < 0 {
		return x
	}
	own := *x
	own.Gates = slices.Clone(x.Gates)
	own.Gates[i] = ended
	return &own
}

// handlerOf returns the gate of the task that began the newest attempt of an effect in its handler, nil if
// the program itself did, or where that gate is gone.
func handlerOf(x *threadlog.Execution, call string) *posthouse.Gate {
	var by posthouse.ID
	for i := range x.Steps {
		if s := &x.Steps[i]; s.Name == call+handler.Nested+effect.RecordBegins {
			m, _ := effect.ReadMark(s.Value.Data)
			by = m.Gate
		}
	}
	return gateOf(x, by)
}

func gateOf(x *threadlog.Execution, id posthouse.ID) *posthouse.Gate {
	if i := slices.IndexFunc(x.Gates, func(g *posthouse.Gate) bool { return id != "" && g.ID == id }); i >= 0 {
		return x.Gates[i]
	}
	return nil
}

// eachUnsettled calls visit with each effect of the heads' executions that is not settled and that
// no open question is about, until it returns an error. ended, if set, is a task's gate with the
// decision that this entry gives it.
func eachUnsettled(tx *core.Tx, branch string, ended *posthouse.Gate, visit func(*unsettled) error) error {
	info := tx.Thread.Info
	if len(info.Begun) == 0 { // a summary that keeps what began says that nothing has
		return nil
	}
	for _, b := range info.Branches {
		if b.Head == "" || branch != "" && b.Branch != branch {
			continue
		}
		head, err := tx.HeadOf(b.Branch)
		if err != nil {
			return err
		}
		all, err := tx.Core.Logs.Unfinished(tx.Ctx, &head.Header)
		if err != nil {
			return err
		}
		for task, x := range all.Take() {
			if err := unsettledOf(tx, b.Branch, task, with(x, ended), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func unsettledOf(tx *core.Tx, branch, task string, x *threadlog.Execution, visit func(*unsettled) error) error {
	begins := handler.Nested + effect.RecordBegins
	for _, call := range effectCalls(x, begins) {
		steps := make([]*posthouse.StepRecord, len(x.Steps))
		idempotent, class := false, posthouse.Effect(0)
		for i := range x.Steps {
			steps[i] = &x.Steps[i]
			if x.Steps[i].Name == call+begins {
				class = x.Steps[i].Effect
				idempotent = idempotent || class == posthouse.EffectWrite
			}
		}
		if hasResult(x, call) {
			continue
		}
		u := unsettled{branch: branch, task: task, call: call, class: class, use: effect.Read(call, steps, x.Gates)}
		u.under = u.use.Grant(u.use.Attempts() - 1)
		under, err := tx.Core.Logs.Gate(tx.Ctx, u.under)
		if errors.Is(err, posthouse.ErrNotFound) || err == nil && (under.Thread != tx.Thread.Name || under.Branch != branch || under.Origin != "") {
			continue // it began elsewhere, and is asked about there
		}
		if err != nil {
			return err
		}
		state := u.use.State()
		_, open := u.use.Question()
		u.handler = handlerOf(x, call)
		if calls := u.use.Reconciles(); len(calls) > 0 {
			u.looks = gateOf(x, calls[len(calls)-1].Gate)
		}
		atWork := u.use.AtWork() || state == effect.Begun && u.handler != nil && u.handler.Decision == nil
		u.asks = !idempotent && (state == effect.Unknown || state == effect.Begun && !atWork)
		if open || !u.asks && !atWork {
			continue
		}
		if err := visit(&u); err != nil {
			return err
		}
	}
	return nil
}

// effectCalls returns the calls of an execution that began to act under a grant.
func effectCalls(x *threadlog.Execution, begins string) (calls []string) {
	for i := range x.Steps {
		if call, ok := strings.CutSuffix(x.Steps[i].Name, begins); ok && x.Steps[i].Grant != "" && !slices.Contains(calls, call) {
			calls = append(calls, call)
		}
	}
	return calls
}

func hasResult(x *threadlog.Execution, call string) bool {
	return slices.ContainsFunc(x.Steps, func(s posthouse.StepRecord) bool {
		return s.Value.Codec != threadlog.CodecFailed && handler.Call(s.Name, s.Occurrence) == call
	})
}

// leaves reports whether a plan goes on without what its branch asks: an input, a change by hand, a
// release.
func (p *Plan) leaves() bool {
	if p.Release != nil {
		return true
	}
	switch kindOf(p.Checkpoint) {
	case posthouse.KindInput, posthouse.KindSave, posthouse.KindUpdate, posthouse.KindRestartStep:
		return !p.Copy
	}
	return false
}

// ends reports whether a plan ends its branch other than by its program's result.
func (p *Plan) ends() bool {
	return p.Checkpoint != nil && !p.Copy && (p.Cancel || p.Checkpoint.Kind == posthouse.KindFail)
}

// checkSettled is [CheckSettled] for a plan that leaves effects.
func (c *Commit) checkSettled() error {
	branch := c.plan.leftBranch()
	for _, w := range c.tx.Thread.Info.Waiting {
		if w.Kind == posthouse.GateOutcome && (branch == "" || w.Branch == branch) {
			return CheckSettled(c.tx, branch)
		}
	}
	err := eachUnsettled(c.tx, branch, nil, func(u *unsettled) error {
		if u.asks {
			return errAskFirst
		}
		return nil
	})
	if err != nil {
		return err
	}
	return CheckSettled(c.tx, branch)
}

// leftBranch is the branch that a plan leaves, "" if it leaves all of them.
func (p *Plan) leftBranch() string {
	if p.Release != nil {
		return ""
	}
	return p.Branch
}

// CheckOutcomeAnswer refuses an answer about an unknown outcome that cannot count: the question is
// not withdrawn, and on a branch that has ended nothing runs again.
func CheckOutcomeAnswer(tx *core.Tx, g *posthouse.Gate, v posthouse.Verdict) error {
	if !g.AsksOutcome() {
		return nil
	}
	if v == posthouse.Cancel {
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Field: "verdict", Gate: g.ID, Message: "the question whether an effect was done is not withdrawn: gate " + string(g.ID) + " waits for its answer",
			Hint: "answer " + posthouse.JoinVerdicts(posthouse.SettleVerdicts(), " or "),
		}
	}
	b, ok := tx.Thread.Info.Branch(g.Branch)
	if v == posthouse.Redo && (!ok || posthouse.IsOver(b.Status) || b.Status == posthouse.StatusFailed) {
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Field: "verdict", Gate: g.ID, Message: "branch " + g.Branch + " of thread " + g.Thread + " has ended as " + string(b.Status) + ": nothing of it runs again",
			Hint: "answer happened or give-up; a failed thread that was resumed takes redo",
		}
	}
	return nil
}
