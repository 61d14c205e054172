package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/rest"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/tree"
	"github.com/posthouse/posthouse/server"
)

// A history is a thread as log shows it.
type history struct {
	Thread      *posthouse.ThreadInfo `json:"thread"`
	Checkpoints []*posthouse.Header   `json:"checkpoints"`
	Gates       []*posthouse.Gate     `json:"gates"`
	Removals    []*posthouse.Event    `json:"removals,omitempty"`
}

func (a *app) logCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "log THREAD",
		Short: "Draw a thread: its checkpoints, branches and decisions",
		Long: `Draw a thread: its checkpoints from the first down, branches set off to the
right, and between a checkpoint and the next the gates it opened and how they
were decided. The branch a checkpoint heads stands in brackets.`,
		Example: `  posthouse log order-1234`,
		Args:    args(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			h, err := readHistory(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.Encode(h)
			}
			a.drawHistory(h)
			return nil
		},
	}
}

func readHistory(ctx context.Context, c *rest.Client, thread string) (*history, error) {
	h := &history{Gates: []*posthouse.Gate{}}
	if err := c.Get(ctx, "/api/threads"+rest.Path(thread), nil, &h.Thread); err != nil {
		return nil, err
	}
	var err error
	h.Checkpoints, err = rest.Collect(rest.List[*posthouse.Header](ctx, c, "/api/checkpoints", params("thread", thread, "order", "asc", "state", "false"), 0))
	if err != nil {
		return nil, err
	}
	gates := map[posthouse.ID]*posthouse.Gate{}
	for e, err := range rest.List[*server.LogEntry](ctx, c, "/api/threads"+rest.Path(thread, "log"), nil, 0) {
		if err != nil {
			return nil, err
		}
		for _, r := range e.Records {
			switch {
			case r.Gate != nil:
				gates[r.Gate.ID] = r.Gate
				h.Gates = append(h.Gates, r.Gate)
			case r.Decision != nil:
				if g := gates[r.Decision.Gate]; g != nil {
					g.Decision = r.Decision
				}
			case r.Vote != nil:
				if g := gates[r.Vote.Gate]; g != nil {
					g.Votes = append(g.Votes, *r.Vote)
				}
			case r.Assignment != nil:
				if g := gates[r.Assignment.Gate]; g != nil {
					g.Assignments = append(g.Assignments, *r.Assignment)
				}
			case r.Removal != nil:
				h.Removals = append(h.Removals, r)
			}
		}
	}
	return h, nil
}

func (a *app) drawHistory(h *history) {
	t := h.Thread
	label := ""
	if t.Coordination != "" {
		label = "  " + t.Coordination
	}
	a.Line("thread %s%s  %s", t.Thread, label, t.Status)
	a.Line("")
	heads := map[string]posthouse.ID{}
	for _, b := range t.Branches {
		heads[b.Branch] = b.Head
	}
	tree.Draw(&a.Term, &tree.Thread{Checkpoints: h.Checkpoints, Gates: h.Gates, Heads: heads})
	for _, r := range h.Removals {
		why := ""
		if r.Removal.Reason != "" {
			why = ": " + r.Removal.Reason
		}
		a.Line("removed %d, %s, by %s%s", r.Removal.Count, tree.Time(r.At), r.Removal.By, why)
	}
	if len(t.Waiting) > 0 {
		a.next("posthouse approve %s", t.Waiting[0].ID)
	}
}
