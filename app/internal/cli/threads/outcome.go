package threads

import (
	"context"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
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

// start sends a request that starts work, and prints what it led to.
func start(ctx context.Context, e *env.Env, c *rest.Client, path string, body any) error {
	var led followed
	if err := c.Do(ctx, http.MethodPost, path, nil, body, &led); err != nil {
		return err
	}
	return printOutcome(ctx, e, c, &led)
}

// printOutcome prints what a decision, a resume, a replay or a fork that ran led to: the
// head of its branch. The exit code is 1 if that failed.
func printOutcome(ctx context.Context, e *env.Env, c *rest.Client, f *followed) error {
	switch {
	case e.JSON && f.Location != "":
		return e.Encode(&server.Accepted{Thread: f.Thread, Branch: f.Branch, Checkpoint: f.At, Decision: f.Decision, Gates: f.Gates, Location: f.Location, Vote: f.Vote, Missing: f.Missing})
	case f.Vote != nil:
		e.Line("%s", tree.Vote(f.Vote))
		e.Line("it is on record; approvals missing: %d", f.Missing)
	case e.JSON:
		if err := e.Encode(&f.Checkpoint); err != nil {
			return err
		}
		return failed(f.status())
	case f.Location != "":
		printAccepted(&e.Term, f)
	default:
		if err := printHead(ctx, &e.Term, c, f); err != nil {
			return err
		}
	}
	e.Next("posthouse log %s", f.Thread)
	return failed(f.status())
}

// printAccepted says why an answer has no checkpoint yet.
func printAccepted(out *term.Term, f *followed) {
	if f.Decision != nil {
		out.Line("%s", tree.Decision(f.Decision))
	}
	if len(f.Gates) == 0 {
		out.Line("it is on record; the thread is still running")
		return
	}
	var open []string
	for _, id := range f.Gates {
		open = append(open, string(id))
	}
	out.Line("it is on record; what follows waits for: %s", strings.Join(open, ", "))
}

// printHead prints the checkpoint at the head of the branch that was followed, and what
// acted on the world meanwhile.
func printHead(ctx context.Context, out *term.Term, c *rest.Client, f *followed) error {
	shown := &f.Checkpoint
	if o := f.Branched; o != nil && o.Head != f.ID {
		var head server.Checkpoint
		if err := c.Get(ctx, "/api/checkpoints"+rest.Path(string(o.Head)), nil, &head); err != nil {
			return err
		}
		head.Decision, head.Branched = f.Decision, o
		shown = &head
	}
	showCheckpoint(out, shown)
	if f.Branched == nil || len(f.Branched.Effects) == 0 {
		return nil
	}
	out.Line("\neffects")
	for i := range f.Branched.Effects {
		out.Line("%s", tree.EffectLine(&tree.Effect{Use: f.Branched.Effects[i]}))
	}
	return nil
}

// failed ends the command with exit code 1 if the work it followed failed.
func failed(s posthouse.Status) error {
	if s == posthouse.StatusFailed {
		return env.Exit(posthouse.ExitFailure)
	}
	return nil
}
