package programs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
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
	ctx := context.WithoutCancel(r.Context()) // a client that leaves does not undo it
	thread := cmp.Or(b.ID, string(r.Reserved.ID))
	head, err := p.Starter.StartJSON(ctx, thread, b.Input, &posthouse.StartOptions{By: r.Actor.Name, Labels: b.Labels})
	if r.Reserved.Again && errors.Is(err, posthouse.ErrExists) {
		return ps.again(w, r, p, thread, err)
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

// again answers a request whose run an earlier attempt began, with where that stands. It returns
// exists if another request began the thread.
func (ps *Programs) again(w http.ResponseWriter, r *api.Request, p *Program, thread string, exists error) error {
	for first, err := range ps.ledger.List(r.Context(), posthouse.Query{Thread: thread, Limit: 1}) {
		if err != nil {
			return err
		}
		if first.CreatedAt.Before(r.Reserved.At) || first.By != r.Actor.Name {
			return blamed(exists)
		}
	}
	info, err := ps.ledger.Thread(r.Context(), thread)
	if err != nil {
		return err
	}
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
