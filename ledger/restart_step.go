package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// RestartStepOptions say who restarts a step. Nil is the zero value.
type RestartStepOptions struct {
	By string // on the new checkpoint's record

	// KeepDone agrees that a call which failed is made again although an effect that stays is on
	// record after its failure, such as a refund. Without it that is [posthouse.ErrConflict].
	KeepDone bool

	DryRun bool // write nothing, and say what would become of the records; the same refusals
}

// A RestartedStep lists what became of a step's records when it began again.
type RestartedStep struct {
	Checkpoint *posthouse.Header      // interrupted: it goes on when it is resumed; nil in a dry run
	Dropped    []posthouse.StepRecord // results that do not count any more
	Kept       []posthouse.StepRecord // effects on the world and people's answers, which the program finds by name

	// Stands are the calls that failed and are made again. The program's work because of the
	// failure is in Behind: it stays done, also where its result is dropped.
	Stands []StandingFailure

	kept, failed string // the first effect that stays after a failure, and the call that failed
}

// RestartStep begins the unfinished executions at a branch's head from their top and drops
// their recorded results. It helps when a program fails because it now takes another
// path than the recorded one, for instance after a question was asked again and
// answered otherwise. It makes a child of the checkpoint, of kind anew and status
// interrupted. Nothing runs.
//
// Effects of class external, and those under a grant with all that was done within them, stay
// on record and are found by their names. So they are not done twice; Kept lists them, in case one must be undone
// by hand. People's answers stay, too. Open questions and timers are withdrawn.
// Executions that completed beside the unfinished ones keep their results, and threads
// that were called are continued.
//
// A call that failed is made again, also if its failure stands: Stands lists what the program did
// because of that.
//
// [posthouse.ErrNotFound]; [posthouse.ErrConflict] unless the checkpoint is its
// branch's head and has something unfinished, and for a kept effect after a failure without
// KeepDone; [posthouse.ErrBusy] while a run has the
// thread; and the errors of [Ledger.Commit].
func (l *Ledger) RestartStep(ctx context.Context, checkpoint posthouse.ID, o *RestartStepOptions) (*RestartedStep, error) {
	if o == nil {
		o = &RestartStepOptions{}
	}
	if err := posthouse.CheckPerson("by", o.By); err != nil {
		return nil, err
	}
	c, err := l.core.ReadCheckpoint(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	info, err := l.Thread(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	if err := mayRestartStep(c, info); err != nil {
		return nil, err
	}
	all, err := l.core.Executions(ctx, &c.Header)
	if err != nil {
		return nil, err
	}
	a := &RestartedStep{}
	for _, x := range all {
		a.sort(x)
	}
	if err := a.mayKeep(o); err != nil {
		return nil, err
	}
	bySeq := func(a, b posthouse.StepRecord) int { return cmp.Compare(a.Seq, b.Seq) }
	slices.SortStableFunc(a.Dropped, bySeq)
	slices.SortStableFunc(a.Kept, bySeq)
	slices.SortStableFunc(a.Stands, func(a, b StandingFailure) int { return cmp.Compare(a.Seq, b.Seq) })
	if o.DryRun {
		return a, nil
	}
	done, err := l.Commit(ctx, &Draft{
		Thread: c.Thread, Branch: c.Branch, Head: &c.ID, Keep: called(info, c.Branch), Checkpoint: next(c, posthouse.KindRestartStep, posthouse.StatusInterrupted, o.By),
	})
	if err != nil {
		return nil, err
	}
	a.Checkpoint = done.Checkpoint
	return a, nil
}

// sort lists what becomes of an execution's results. It leaves out the runtime's own
// records.
func (a *RestartedStep) sort(x *threadlog.Execution) {
	if x.Completed() {
		return
	}
	stays := x.Survivors()
	for _, s := range x.Steps {
		switch base := s.Name[strings.LastIndexByte(s.Name, '>')+1:]; {
		case posthouse.IsReserved(base) || len(s.Value.Data) == 0 || s.Name == threadlog.RecordRequest:
		case stays(&s):
			a.Kept = append(a.Kept, s)
		default:
			a.Dropped = append(a.Dropped, s)
		}
	}
	for _, f := range x.Failures() {
		if !f.Stands() {
			continue
		}
		s := standingFailure(f)
		s.Error = errorIn(f.Step.Value.Data)
		a.Stands = append(a.Stands, s)
		for _, b := range f.Behind {
			if b.Step != nil && stays(b.Step) && a.kept == "" {
				a.kept, a.failed = handler.Call(b.Name, b.Occurrence), handler.Call(f.Step.Name, f.Step.Occurrence)
			}
		}
	}
}

// mayKeep refuses to make a call again behind whose failure an effect stays, unless that is agreed to.
func (a *RestartedStep) mayKeep(o *RestartStepOptions) error {
	if a.kept == "" || o.KeepDone {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Field: "keepDone",
		Message: "step " + a.failed + " would be made again, and " + a.kept + ", which was done because it failed, stays done",
		Hint:    "undo that by hand, or agree to it (keepDone, --keep-done)",
	}
}

// mayRestartStep returns why a checkpoint's step may not begin again, or nil.
func mayRestartStep(c *posthouse.Checkpoint, info *posthouse.ThreadInfo) error {
	refuse := func(message, hint string) error {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: message, Hint: hint}
	}
	b, _ := info.Branch(c.Branch)
	switch {
	case b.Head != c.ID:
		e := &posthouse.Error{Code: posthouse.CodeConflict, Head: b.Head, Message: "branch " + c.Branch + " of thread " + c.Thread + " has gone on from checkpoint " + string(c.ID)}
		e.Hint = "its head is " + string(b.Head) + "; to begin at this one, fork it: a fork of an unfinished step is taken anew in the same way"
		return e
	case c.Status == posthouse.StatusDone || c.Status == posthouse.StatusCancelled:
		return refuse("checkpoint "+string(c.ID)+" is "+string(c.Status)+": nothing is unfinished there", "replay or fork an earlier checkpoint of the thread")
	case len(c.Next) == 0 && c.Graph == "":
		return refuse("no program has an unfinished step at checkpoint "+string(c.ID), "it was saved by hand: save the next one")
	}
	return nil
}

// called returns the open gates of a branch that wait for other threads.
func called(t *posthouse.ThreadInfo, branch string) (gates []posthouse.ID) {
	for i := range t.Waiting {
		if w := &t.Waiting[i]; w.Branch == branch && w.Kind == posthouse.GateThread {
			gates = append(gates, w.ID)
		}
	}
	return gates
}

// next returns a child with another kind and status, otherwise unchanged.
func next(c *posthouse.Checkpoint, kind string, status posthouse.Status, by string) *posthouse.Change {
	return &posthouse.Change{
		Parent: c.ID, Kind: kind, Status: status, Coordination: c.Coordination, Run: c.Run, Graph: c.Graph,
		Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: by, Next: c.Next, Labels: c.Labels,
	}
}
