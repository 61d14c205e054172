package programs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
)

type startBody struct {
	Input  json.RawMessage   `json:"input,omitempty" doc:"what the run begins with: JSON of the program's schema; none is null"`
	ID     string            `json:"id,omitempty" doc:"the thread's name, by the caller's choice; a new one unless given"`
	Labels map[string]string `json:"labels,omitempty" doc:"by which the run's first checkpoint is found; at most 15, of at most 200 bytes"`
}

// A ProgramRun is a run that has begun.
type ProgramRun struct {
	Program    string           `json:"program" doc:"the program"`
	Thread     string           `json:"thread" doc:"the line of work, by which all else is asked for"`
	Status     posthouse.Status `json:"status" doc:"of the thread now: running until a runner has gone on with it"`
	Checkpoint posthouse.ID     `json:"checkpoint,omitempty" doc:"the thread's head"`
	Location   string           `json:"location" doc:"where the thread stands"`
	Events     string           `json:"events" doc:"what happens on the thread, as server-sent events from its beginning"`
}

// maxLabels is what every kind of program takes: one may need a label of its own.
const maxLabels = 15

func (ps *Programs) start(w http.ResponseWriter, r *api.Request, b *startBody) error {
	p, err := ps.find(r.Name("program"))
	if err != nil {
		return err
	}
	if err := b.check(p); err != nil {
		return err
	}
	key, err := agentcall.Key(r)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context()) // a client that leaves does not undo it
	request := &agentcall.Reserved{Thread: b.ID}
	if key != "" {
		// A bad request is refused before a key stands for it: the client corrects it under the same key.
		if _, err := p.Starter.StartJSON(ctx, "", b.Input, b.options(r.Actor.Name, true)); err != nil {
			return err
		}
		request, err = ps.keys.Reserve(ctx, key, b.message(p.Info.Name, r.Actor.Name))
		if err != nil {
			return err
		}
	}
	head, err := p.Starter.StartJSON(ctx, request.Thread, b.Input, b.options(r.Actor.Name, false))
	if request.Again && errors.Is(err, posthouse.ErrExists) {
		return ps.again(ctx, w, p, request, err)
	}
	if err != nil {
		return blamed(err)
	}
	if ps.runner != nil {
		if err := ps.runner.Resume(ctx, head.Thread, head.Branch); err != nil {
			ps.log.Debug("a run that has begun waits for a runner to find it", "thread", head.Thread, "error", err)
		}
	}
	return ps.answer(w, p, &posthouse.ThreadInfo{Thread: head.Thread, Status: head.Status, Branches: []posthouse.BranchHead{{Branch: head.Branch, Head: head.ID}}})
}

// again answers a request that was sent before with where its run stands. It returns exists if
// another request began the thread.
func (ps *Programs) again(ctx context.Context, w http.ResponseWriter, p *Program, request *agentcall.Reserved, exists error) error {
	for first, err := range ps.ledger.List(ctx, posthouse.Query{Thread: request.Thread, Limit: 1}) {
		if err != nil {
			return err
		}
		if first.Seq <= request.After {
			return blamed(exists)
		}
	}
	info, err := ps.ledger.Thread(ctx, request.Thread)
	if err != nil {
		return err
	}
	w.Header().Set(agentcall.ReplayedHeader, "true")
	return ps.answer(w, p, info)
}

// blamed names the thread as the body does.
func blamed(err error) error {
	e := new(posthouse.Error)
	if !errors.As(err, &e) || e.Field != "thread" || e.Code != posthouse.CodeExists {
		return err
	}
	named := *e
	named.Field = "id"
	return &named
}

// check refuses what no program takes.
func (b *startBody) check(p *Program) error {
	switch {
	case p.Starter == nil:
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Field: "program", Message: p.Info.Name + " begins no runs over HTTP",
			Hint: "its threads are begun by a program, or by a message to an agent: POST /api/agents",
		}
	case len(b.Labels) > maxLabels:
		return posthouse.Invalid("labels", "are %d; the limit is %d", len(b.Labels), maxLabels)
	case b.ID != "":
		return posthouse.CheckThread("id", b.ID)
	}
	return nil
}

func (b *startBody) options(by string, dryRun bool) *posthouse.StartOptions {
	return &posthouse.StartOptions{By: by, Labels: b.Labels, DryRun: dryRun}
}

// message returns what a key stands for. No agent has the name that it gives to a program.
func (b *startBody) message(program, by string) *agentcall.Message {
	text := string(b.Input)
	labels := make([]string, 0, len(b.Labels))
	for name := range b.Labels {
		labels = append(labels, name)
	}
	slices.Sort(labels)
	for _, name := range labels {
		text += "\x00" + strconv.Quote(name) + strconv.Quote(b.Labels[name])
	}
	return &agentcall.Message{Agent: "program\x00" + program, Text: text, Thread: b.ID, By: by}
}

// answer says where a run is.
func (ps *Programs) answer(w http.ResponseWriter, p *Program, info *posthouse.ThreadInfo) error {
	run := &ProgramRun{
		Program: p.Info.Name, Thread: info.Thread, Status: info.Status, Location: api.ThreadPath(info.Thread),
		Events: "/api/events?after=start&thread=" + url.QueryEscape(info.Thread),
	}
	if b, ok := info.Branch(posthouse.MainBranch); ok {
		run.Checkpoint = b.Head
	}
	w.Header().Set("Location", run.Location)
	return api.WriteJSON(w, http.StatusCreated, run)
}
