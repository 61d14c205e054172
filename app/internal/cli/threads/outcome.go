package threads

import (
	"context"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// An outcome is the answer to a request that started work: a checkpoint, or where to
// look for it.
type outcome struct {
	server.Checkpoint
	Location string `json:"location,omitempty"`

	Vote    *posthouse.Decision `json:"vote,omitempty"`
	Missing int                 `json:"missing,omitempty"`
	At      posthouse.ID        `json:"checkpoint,omitempty"`
}

// status is where the branch is by now, else the status of the checkpoint.
func (o *outcome) status() posthouse.Status {
	if o.Branched != nil {
		return o.Branched.Status
	}
	return o.Status
}

// print prints what a decision, a resume, a replay or a fork that ran led to: the
// head of its branch. The exit code is 1 if that failed.
func (o *outcome) print(ctx context.Context, e *env.Env, c *client.Client) error {
	switch {
	case e.Structured() && o.Location != "":
		return e.Encode(&server.Accepted{Thread: o.Thread, Branch: o.Branch, Checkpoint: o.At, Decision: o.Decision, Gates: o.Gates, Location: o.Location, Vote: o.Vote, Missing: o.Missing})
	case o.Vote != nil:
		e.Line("%s", tree.Vote(o.Vote))
		e.Line("it is on record; approvals missing: %d", o.Missing)
	case e.Structured():
		if err := e.Encode(&o.Checkpoint); err != nil {
			return err
		}
		return failed(o.status())
	case o.Location != "":
		o.printAccepted(&e.Term)
	default:
		if err := o.printHead(ctx, &e.Term, c); err != nil {
			return err
		}
	}
	e.Next("posthouse log %s", o.Thread)
	return failed(o.status())
}

// printAccepted says why an answer has no checkpoint yet.
func (o *outcome) printAccepted(out *term.Term) {
	if o.Decision != nil {
		out.Line("%s", tree.Decision(o.Decision))
	}
	if len(o.Gates) == 0 {
		out.Line("it is on record; the thread is still running")
		return
	}
	var open []string
	for _, id := range o.Gates {
		open = append(open, string(id))
	}
	out.Line("it is on record; what follows waits for: %s", strings.Join(open, ", "))
}

// printHead prints the checkpoint at the head of the branch that was followed, and what
// acted on the world on the way.
func (o *outcome) printHead(ctx context.Context, out *term.Term, c *client.Client) error {
	shown := &o.Checkpoint
	if b := o.Branched; b != nil && b.Head != o.ID {
		var head server.Checkpoint
		if err := c.Get(ctx, "/api/checkpoints"+client.Path(string(b.Head)), nil, &head); err != nil {
			return err
		}
		head.Decision, head.Branched = o.Decision, b
		shown = &head
	}
	showCheckpoint(out, shown)
	if o.Branched == nil || len(o.Branched.Effects) == 0 {
		return nil
	}
	out.Line("\neffects")
	for i := range o.Branched.Effects {
		out.Line("%s", tree.EffectLine(&tree.Effect{Use: o.Branched.Effects[i]}))
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

// start sends a request that starts work, and prints what it led to.
func start(ctx context.Context, e *env.Env, c *client.Client, path string, body any) error {
	var led outcome
	if err := c.Do(ctx, http.MethodPost, path, nil, body, &led); err != nil {
		return err
	}
	return led.print(ctx, e, c)
}
