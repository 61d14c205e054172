package cli

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
)

// A followed is the answer to a request that started work: a checkpoint, or where to
// look for it.
type followed struct {
	server.Checkpoint
	Location string `json:"location,omitempty"`

	Vote    *posthouse.Decision `json:"vote,omitempty"`
	Missing int                 `json:"missing,omitempty"`
	At      posthouse.ID        `json:"checkpoint,omitempty"`
}

// status is where the branch is by now, else the status of the checkpoint.
func (f *followed) status() posthouse.Status {
	if f.Branched != nil {
		return f.Branched.Status
	}
	return f.Status
}

// printOutcome prints what a decision, a resume, a replay or a fork that ran led to: the
// head of its branch. The exit code is 1 if that failed.
func (a *app) printOutcome(ctx context.Context, c *rest.Client, f *followed) error {
	switch {
	case a.JSON && f.Location != "":
		return a.Encode(&server.Accepted{Thread: f.Thread, Branch: f.Branch, Checkpoint: f.At, Decision: f.Decision, Gates: f.Gates, Location: f.Location, Vote: f.Vote, Missing: f.Missing})
	case f.Vote != nil:
		a.Line("%s", tree.Vote(f.Vote))
		a.Line("it is on record; approvals missing: %d", f.Missing)
	case a.JSON:
		if err := a.Encode(&f.Checkpoint); err != nil {
			return err
		}
		return failed(f.status())
	case f.Location != "":
		a.printAccepted(f)
	default:
		if err := a.printHead(ctx, c, f); err != nil {
			return err
		}
	}
	a.next("posthouse log %s", f.Thread)
	return failed(f.status())
}

// printAccepted says why an answer has no checkpoint yet.
func (a *app) printAccepted(f *followed) {
	if f.Decision != nil {
		a.Line("%s", tree.Decision(f.Decision))
	}
	if len(f.Gates) == 0 {
		a.Line("it is on record; the thread is still running")
		return
	}
	var open []string
	for _, id := range f.Gates {
		open = append(open, string(id))
	}
	a.Line("it is on record; what follows waits for: %s", strings.Join(open, ", "))
}

// printHead prints the checkpoint at the head of the branch that was followed, and what
// acted on the world meanwhile.
func (a *app) printHead(ctx context.Context, c *rest.Client, f *followed) error {
	shown := &f.Checkpoint
	if o := f.Branched; o != nil && o.Head != f.ID {
		var head server.Checkpoint
		if err := c.Get(ctx, "/api/checkpoints"+rest.Path(string(o.Head)), nil, &head); err != nil {
			return err
		}
		head.Decision, head.Branched = f.Decision, o
		shown = &head
	}
	a.showCheckpoint(shown)
	if f.Branched == nil || len(f.Branched.Effects) == 0 {
		return nil
	}
	a.Line("\neffects")
	for i := range f.Branched.Effects {
		a.Line("%s", tree.EffectLine(&tree.Effect{Use: f.Branched.Effects[i]}))
	}
	return nil
}

// failed ends the command with exit code 1 if the work it followed failed.
func failed(s posthouse.Status) error {
	if s == posthouse.StatusFailed {
		return &exitError{posthouse.ExitFailure}
	}
	return nil
}
