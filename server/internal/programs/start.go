package programs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

type startBody struct {
	Input  json.RawMessage   `json:"input,omitempty" doc:"what the run begins with: JSON of the program's schema; none is null"`
	ID     string            `json:"id,omitempty" doc:"the thread's name, by the caller's choice; a new one unless given"`
	Labels map[string]string `json:"labels,omitempty" doc:"by which the run's first checkpoint is found; at most 15, of at most 200 bytes"`

	StartAt time.Time `json:"startAt,omitzero" doc:"when the run starts, at most 366 days ahead; now unless given. Until then its thread is on record, waits, and can be cancelled"`
}

// A ProgramRun is a run that has begun.
type ProgramRun struct {
	Program    string           `json:"program" doc:"the program"`
	Thread     string           `json:"thread" doc:"the line of work, by which all else is asked for"`
	Status     posthouse.Status `json:"status" doc:"of the thread now: running until a runner has gone on with it, waiting until startAt"`
	Checkpoint posthouse.ID     `json:"checkpoint,omitempty" doc:"the thread's head"`
	StartAt    time.Time        `json:"startAt,omitzero" doc:"when it starts; absent once it may have started"`
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
	head, err := p.Starter.StartJSON(ctx, thread, b.Input, &posthouse.StartOptions{By: r.Actor.Name, Labels: b.Labels, StartAt: b.StartAt})
	if r.Reserved.Again && errors.Is(err, posthouse.ErrExists) {
		return ps.again(w, r, p, thread, err)
	}
	if err != nil {
		return blamed(err)
	}
	if ps.runner != nil && head.Status.Runnable() {
		if err := ps.runner.Resume(ctx, head.Thread, head.Branch); err != nil {
			ps.log.Debug("a run that has begun waits for a runner to find it", "thread", head.Thread, "error", err)
		}
	}
	info := &posthouse.ThreadInfo{Thread: head.Thread, Status: head.Status, Branches: []posthouse.BranchHead{{Branch: head.Branch, Head: head.ID}}}
	if head.Status == posthouse.StatusWaiting {
		info.Waiting = []posthouse.WaitingGate{{Kind: posthouse.GateTimer, ExpiresAt: b.StartAt}}
	}
	return ps.answer(w, p, info)
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

// blamed names the field at fault as the body does.
func blamed(err error) error {
	e := new(posthouse.Error)
	if !errors.As(err, &e) {
		return err
	}
	name := ""
	switch {
	case e.Field == "thread" && e.Code == posthouse.CodeExists:
		name = "id"
	case e.Field == "StartAt":
		name = "startAt"
	default:
		return err
	}
	named := *e
	named.Field = name
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
	if len(info.Waiting) == 1 && info.Checkpoints <= 1 && info.Waiting[0].Kind == posthouse.GateTimer {
		run.StartAt = info.Waiting[0].ExpiresAt.UTC()
	}
	w.Header().Set("Location", run.Location)
	return api.WriteJSON(w, http.StatusCreated, run)
}
