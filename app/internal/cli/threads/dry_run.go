package threads

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

// A removing is what a removal would take, by what is on record now.
type removing struct {
	DryRun      bool     `json:"dryRun"`
	Thread      string   `json:"thread"`
	Checkpoints int      `json:"checkpoints"`
	Gates       int      `json:"gates,omitempty"`    // open questions and waits, which would end
	Versions    int      `json:"versions,omitempty"` // released, which would go as well
	Heads       []string `json:"heads,omitempty"`    // branches that would end earlier
	Refused     string   `json:"refused,omitempty"`  // why it would not be done
}

func (r *removing) print(e *env.Env) error {
	r.DryRun = true
	return e.Answer(r, func() {
		e.Line("would be deleted: %s of thread %s", term.Count(r.Checkpoints, "checkpoint"), r.Thread)
		versions := ""
		if r.Versions > 0 {
			versions = strconv.Itoa(r.Versions)
		}
		gates := ""
		if r.Gates > 0 {
			gates = strconv.Itoa(r.Gates)
		}
		e.Fields("versions", versions, "open gates", gates)
		for _, b := range r.Heads {
			e.Line("branch %s would end at its checkpoint before", b)
		}
		if r.Refused != "" {
			e.Line("it would be refused: %s", r.Refused)
			return
		}
		e.Line("nothing was deleted: leave --dry-run out")
	})
}

// of reads what there is of a thread.
func (r *removing) of(ctx context.Context, c *client.Client, thread string) (*server.Thread, error) {
	var t server.Thread
	if err := c.Get(ctx, client.ThreadPath(thread), nil, &t); err != nil {
		return nil, err
	}
	r.Thread = thread
	if h := t.Held; h != nil {
		r.Refused = "the thread is under legal hold by " + h.By
	}
	return &t, nil
}

// wouldDelete says what a deletion of a thread would take.
func wouldDelete(ctx context.Context, e *env.Env, c *client.Client, thread string) error {
	var r removing
	t, err := r.of(ctx, c, thread)
	if err != nil {
		return err
	}
	r.Checkpoints, r.Gates, r.Versions = t.Checkpoints, len(t.Waiting), t.Releases
	return r.print(e)
}

// wouldDrop says what a released version holds.
func wouldDrop(ctx context.Context, e *env.Env, c *client.Client, thread, version string) error {
	r := removing{Thread: thread}
	if _, err := r.of(ctx, c, thread); err != nil && !errors.Is(err, posthouse.ErrNotFound) { // nothing has begun since the release
		return err
	}
	var v posthouse.Release
	if err := c.Get(ctx, client.ThreadPath(thread, "releases", version), nil, &v); err != nil {
		return err
	}
	r.Checkpoints, r.Versions = v.Checkpoints, 1
	return r.print(e)
}

// wouldRemove says what a deletion of a checkpoint would take, with its children or without.
func wouldRemove(ctx context.Context, e *env.Env, c *client.Client, id, mode string) error {
	var cp server.Checkpoint
	if err := c.Get(ctx, "/api/checkpoints"+client.Path(id), env.Params("state", "false"), &cp); err != nil {
		return err
	}
	var r removing
	t, err := r.of(ctx, c, cp.Thread)
	if err != nil {
		return err
	}
	gone, asked := []posthouse.ID{cp.ID}, slices.Clone(cp.Gates)
	q := env.Params("thread", cp.Thread, "order", "asc", "state", "false")
	for h, err := range client.List[*posthouse.Header](ctx, c, "/api/checkpoints", q, 0) {
		switch {
		case err != nil:
			return err
		case !slices.Contains(gone, h.Parent):
		case mode == "subtree":
			gone, asked = append(gone, h.ID), append(asked, h.Gates...)
		case mode == "" || mode == "refuse":
			r.Refused = "it has children: --mode says what becomes of them"
		}
	}
	r.Checkpoints = len(gone)
	for _, b := range t.Branches {
		if slices.Contains(gone, b.Head) {
			r.Heads = append(r.Heads, b.Branch)
		}
	}
	for _, w := range t.Waiting {
		if slices.Contains(asked, w.ID) {
			r.Gates++
		}
	}
	return r.print(e)
}
