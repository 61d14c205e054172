package threads

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/live"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/server"
)

// A history is a thread as log shows it.
type history struct {
	Thread      *posthouse.ThreadInfo `json:"thread"`
	Checkpoints []*posthouse.Header   `json:"checkpoints"`
	Gates       []*posthouse.Gate     `json:"gates"`
	Effects     []*server.Effect      `json:"effects"` // what acted on the world, and who approved it
	Steps       []*posthouse.Event    `json:"steps"`   // records of steps and checkpoints, with their stories
	Removals    []*posthouse.Event    `json:"removals,omitempty"`
	Release     *posthouse.Release    `json:"release,omitempty"` // that the version was closed with

	whys map[posthouse.ID]string // gates were decided
}

// Log returns the command log.
func Log(e *env.Env) *cobra.Command {
	var version string
	var follow, steps bool
	cmd := &cobra.Command{
		Use:   "log THREAD",
		Short: "Draw a thread: its checkpoints, branches and decisions",
		Long: `Draw a thread: its checkpoints from the first down, branches set off to the
right, and between a checkpoint and the next the gates it opened and how they
were decided, and what acted on the world, with who approved it (posthouse
grant GATE says more), and what programs noted. The branch a checkpoint heads
stands in brackets. With --steps it says how long each step and node took, how
many attempts there were, and why the one before failed. With --version it is
the thread as it was released, by number or tag. With --follow it goes on with a
line for each record that is added, until it is interrupted.`,
		Example: `  posthouse log order-1234
  posthouse log order-1234 --steps
  posthouse log order-1234 --version stable
  posthouse log order-1234 -f`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			if follow && version != "" {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "follow", Message: "and --version exclude each other", Hint: "a version does not change"}
			}
			goOn := func(context.Context, uint64) error { return nil }
			if follow {
				var err error
				goOn, err = live.Follow(ctx, e, c, args[0]) // before the drawing, so that nothing is missed
				if err != nil {
					return err
				}
			}
			h, err := readHistory(ctx, c, args[0], version)
			if err != nil {
				return err
			}
			if err := e.Answer(h, func() { drawHistory(e, h, steps, !follow) }); err != nil {
				return err
			}
			return goOn(ctx, h.Thread.Tail.Seq)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added")
	cmd.Flags().StringVar(&version, "version", "", "a released version's number or tag")
	cmd.Flags().BoolVar(&steps, "steps", false, "with the steps: when they began, what they took, their attempts")
	return cmd
}

// load reads the thread as it is now, or a version of it.
func (h *history) load(ctx context.Context, c *client.Client, thread, version string) error {
	if version == "" {
		return c.Get(ctx, client.ThreadPath(thread), nil, &h.Thread)
	}
	if err := c.Get(ctx, client.ThreadPath(thread, "releases", version), nil, &h.Release); err != nil {
		return err
	}
	h.Thread = &posthouse.ThreadInfo{
		Thread: thread, Generation: h.Release.Version, First: h.Release.First, Branches: h.Release.Heads, Checkpoints: h.Release.Checkpoints,
	}
	if b, ok := h.Release.Head(""); ok {
		h.Thread.Status = b.Status
	}
	return nil
}

func readHistory(ctx context.Context, c *client.Client, thread, version string) (*history, error) {
	h := &history{Gates: []*posthouse.Gate{}, Steps: []*posthouse.Event{}, whys: map[posthouse.ID]string{}}
	if err := h.load(ctx, c, thread, version); err != nil {
		return nil, err
	}
	generation := strconv.Itoa(int(h.Thread.Generation))
	q := env.Params("thread", thread, "generation", generation, "order", "asc", "state", "false")
	var err error
	h.Checkpoints, err = client.Collect(client.List[*posthouse.Header](ctx, c, "/api/checkpoints", q, 0))
	if err != nil {
		return nil, err
	}
	gates := map[posthouse.ID]*posthouse.Gate{}
	// A gate that is not shown is a new one: what is noted there is dropped.
	gate := func(id posthouse.ID) *posthouse.Gate { return cmp.Or(gates[id], new(posthouse.Gate)) }
	var from url.Values // skips the generations before
	if first := h.Thread.First; first > 1 {
		from = env.Params("cursor", strconv.FormatUint(first-1, 10))
	}
	for entry, err := range client.List[*server.LogEntry](ctx, c, client.ThreadPath(thread, "log"), from, 0) {
		if err != nil {
			return nil, err
		}
		if entry.Generation != h.Thread.Generation {
			break // what came after the release
		}
		for _, r := range entry.Records {
			switch {
			case r.Step != nil, r.Checkpoint != nil:
				h.Steps = append(h.Steps, r)
			case r.Gate != nil:
				gates[r.Gate.ID] = r.Gate
				h.Gates = append(h.Gates, r.Gate)
			case r.Decision != nil:
				gate(r.Decision.Gate).Decision = r.Decision
				h.whys[r.Decision.Gate] = whyIn(gate(r.Decision.Gate), entry)
			case r.Vote != nil:
				g := gate(r.Vote.Gate)
				g.Votes = append(g.Votes, *r.Vote)
			case r.Assignment != nil:
				g := gate(r.Assignment.Gate)
				g.Assignments = append(g.Assignments, *r.Assignment)
			case r.Notice != nil:
				g := gate(r.Notice.Gate)
				g.Notices = append(g.Notices, *r.Notice)
			case r.Removal != nil:
				h.Removals = append(h.Removals, r)
			}
		}
	}
	effects, err := client.Collect(client.List[*server.Effect](ctx, c, client.ThreadPath(thread, "effects"), nil, 0))
	h.Effects = slices.DeleteFunc(effects, func(f *server.Effect) bool { return f.Generation != h.Thread.Generation })
	return h, err
}

// whyIn returns why a gate was decided by an entry.
func whyIn(g *posthouse.Gate, entry *server.LogEntry) string {
	var made []*posthouse.Header
	for _, r := range entry.Records {
		if r.Checkpoint != nil {
			made = append(made, r.Checkpoint)
		}
	}
	return inbox.WhyIn(g.Decision, g.Branch, made...)
}

// told returns the gates with the reasons of their decisions as people are told them.
func (h *history) told() (all []*posthouse.Gate) {
	for _, g := range h.Gates {
		if g.Decision != nil && h.whys[g.ID] != g.Decision.Reason {
			g = g.Clone()
			g.Decision.Reason = h.whys[g.ID]
		}
		all = append(all, g)
	}
	return all
}

// steps returns what is told of steps by the checkpoints that they led to: the next one on their branch.
func (h *history) steps() (all []tree.Step) {
	since := map[string]int{} // by branch, the first step without one
	for _, e := range h.Steps {
		if e.Step != nil {
			if _, ok := since[e.Step.Branch]; !ok {
				since[e.Step.Branch] = len(all)
			}
			all = append(all, tree.Step{Event: e})
			continue
		}
		branch := e.Checkpoint.Branch
		if from, ok := since[branch]; ok {
			for i := from; i < len(all); i++ {
				if all[i].Step != nil && all[i].Step.Branch == branch {
					all[i].Before = e.Checkpoint.ID
				}
			}
			delete(since, branch)
		}
		all = append(all, tree.Step{Event: e, Before: e.Checkpoint.ID})
	}
	return all
}

func drawHistory(e *env.Env, h *history, steps, next bool) {
	t := h.Thread
	label := ""
	if t.Coordination != "" {
		label = "  " + t.Coordination
	}
	if h.Release != nil {
		label += "  version " + strconv.Itoa(int(h.Release.Version))
	}
	e.Line("thread %s%s  %s", t.Thread, label, t.Status)
	e.Line("")
	heads := map[string]posthouse.ID{}
	for _, b := range t.Branches {
		heads[b.Branch] = b.Head
	}
	drawn := &tree.Thread{Checkpoints: h.Checkpoints, Gates: h.told(), Heads: heads, Steps: h.steps(), Times: steps}
	for _, f := range h.Effects {
		drawn.Effects = append(drawn.Effects, tree.Effect{Use: f.Use, Decision: f.Decision})
	}
	tree.Draw(&e.Term, drawn)
	for _, r := range h.Removals {
		what := strconv.Itoa(r.Removal.Count + r.Removal.Archived)
		if r.Removal.Version > 0 {
			what += " with version " + strconv.Itoa(int(r.Removal.Version))
		}
		e.Line("removed %s, %s, by %s%s", what, tree.Time(r.At), r.Removal.By, after(": ", r.Removal.Reason))
	}
	if r := h.Release; r != nil {
		e.Line("released %s, by %s%s", tree.Time(r.At), cmp.Or(r.By, "posthouse"), after(": ", r.Reason))
	}
	if len(t.Waiting) > 0 && next {
		i := slices.IndexFunc(h.Gates, func(g *posthouse.Gate) bool { return g.ID == t.Waiting[0].ID })
		if i < 0 {
			e.Next("posthouse gate show %s", t.Waiting[0].ID)
			return
		}
		nextAnswer(e, h.Gates[i])
	}
}

func threadUsage(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "usage THREAD", Short: "Add up what a thread used of models",
		Long: `Add up what a thread used of models, by the notes of its steps on all of its branches: calls,
tokens and cost. Sums are exact. A replay repeats no step, so nothing counts twice.`,
		Example: `  posthouse thread usage order-1234
  posthouse thread usage order-1234 --json | jq .costs`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			var u client.Usage
			if err := c.Get(ctx, client.ThreadPath(args[0], "usage"), nil, &u); err != nil {
				return err
			}
			if e.Structured() {
				return e.Encode(&u)
			}
			return usageTable.Print(e, append(u.Models, client.ModelUsage{Model: "all", UsageSum: u.UsageSum}), u.More)
		}),
	}
}

var usageTable = env.Table[client.ModelUsage]{
	None: "nothing is noted",
	Head: []string{"MODEL", "CALLS", "INPUT TOKENS", "OUTPUT TOKENS", "COST"},
	Row: func(m client.ModelUsage) []string {
		count := func(n int64) string { return strconv.FormatInt(n, 10) }
		return []string{m.Model, strconv.Itoa(m.Calls), count(m.InputTokens), count(m.OutputTokens), m.CostText()}
	},
}
