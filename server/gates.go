package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/asked"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/substitutes"
)

const decideNotes = "The decision is on record before anything that follows from it, and is taken once: a later one, " +
	"also from the same client with the same body, gets 409 with the first decision. " +
	"On a gate with a quorum this is one vote: 202 with how many are missing, until the vote that decides. Then the answer waits for what follows: " +
	"200 with the checkpoint that follows the one decided, or 202 with where to look if that takes longer. " +
	"The header Prefer: wait=5 bounds that to five seconds, and wait=0 does not wait. " +
	"If-Match with the ETag of the gate or checkpoint, or shown, binds the decision to what was seen."

// waited are the answers to a request that starts work and waits for its outcome.
var waited = []api.Answer{
	{Status: http.StatusOK, Help: "the checkpoint that follows", Body: Checkpoint{}, Media: ""},
	{Status: http.StatusAccepted, Help: "it is on record; what follows is still running, waits for another gate, or runs elsewhere", Body: Accepted{}, Media: ""},
}

// gates are /api/gates, the inbox: questions that wait, and deciding them, also by the
// checkpoint that asks.
type gates struct {
	ledger   *ledger.Ledger
	asked    *inbox.Memory // of lists
	outcomes *outcomes
	recovery *recovery
}

func (gs *gates) Routes() []*api.Route {
	const path = "/api/gates"
	rs := []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List gates: the inbox", Handle: gs.list,
			Notes: "What waits, or with state what became of the others: those come with the newest decision first. " +
				"A page takes a bounded time, so it may be short, or empty, and have a next: only one without next is the last.",
			Query:   gateFilters(),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of gates", Body: api.List[*Gate]{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a gate", Handle: gs.get,
			Notes: "With its decision, once it has one.", Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate", Body: Gate{}, Media: ""}},
		},
	}
	rs = append(rs, &api.Route{
		Method: http.MethodPost, Path: path + "/{id}/ask-again", Role: tokens.Operator, Summary: "Ask a question again that nobody answered", Handle: api.Take(gs.askAgain), Body: askAgainBody{},
		Notes:   "Of a gate whose deadline passed, or that was withdrawn. In place while its checkpoint is the head of its branch, else on a new branch; with as much time as it had.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate that asks again", Body: posthouse.Gate{}, Media: ""}},
	})
	rs = append(rs, gs.decideRoutes(path, gs.decideGate)...)
	rs = append(rs, gs.snoozeRoutes(path)...)
	return append(rs, gs.decideRoutes("/api/checkpoints", gs.decideCheckpoint)...)
}

// decideRoutes are the routes of all verdicts below a path.
func (gs *gates) decideRoutes(path string, handle func(posthouse.Verdict) func(http.ResponseWriter, *api.Request) error) (rs []*api.Route) {
	for _, verdict := range posthouse.GivenVerdicts() {
		q := []api.Param{{Name: "by", Kind: api.TextParam, Help: "who decides, if not the token's owner; needs the role operator"}}
		if verdict == posthouse.Approve {
			q = append(q, api.Param{Name: "request", Kind: api.BodyParam, Help: "approve this request instead of the one in the state: recorded as an edit of it"})
		}
		rs = append(rs, &api.Route{
			Method: http.MethodPost, Path: path + "/{id}/" + string(verdict), Role: tokens.Approver, Summary: verdict.Info().Summary(), Notes: decideNotes,
			Query: q, Body: decideBody{}, State: true, Answers: waited, Handle: handle(verdict),
		})
	}
	return rs
}

// gateFilters are the parameters of the inbox.
func gateFilters() []api.Param {
	return []api.Param{
		{Name: "state", Kind: api.EnumParam, Values: stateNames(), Def: string(inbox.Open), Help: "open: no decision is on record; decided: by a person, or what answered in their place; expired: nobody answered in time; withdrawn: cancelled, or replaced"},
		coordParam, threadParam, {Name: "checkpoint", Kind: api.IDParam, Help: "of this checkpoint"},
		{Name: "question", Kind: api.TextParam, Help: "of this name"}, {Name: "program", Kind: api.TextParam, Help: "asked by this program"},
		{Name: "label", Kind: api.TextParam, Help: "whose question has this label: name=value"},
		{Name: "assignee", Kind: api.TextParam, Help: "that this person may decide, or could have: assigned to them, or to nobody, and not their own request; me is the token's owner"},
		{Name: "assigned", Kind: api.TextParam, Help: "that this person may decide, or could have, by name: not what is assigned to nobody; me is the token's owner"},
		{Name: "decider", Kind: api.TextParam, Help: "that this person decided, or voted on; me is the token's owner"},
		{Name: "requester", Kind: api.TextParam, Help: "that this person made, or changed; me is the token's owner"},
		{Name: "q", Kind: api.TextParam, Help: "that have this text, at most 200 bytes, in the question, its payload, its labels as name=value, or the name of its thread, in upper or lower case"},
		{Name: "snoozed", Kind: api.EnumParam, Values: []string{"hidden", "shown", "only"}, Help: "of open gates that the assignee hid for now: hidden unless given; needs assignee"},
		{Name: "kind", Kind: api.TextParam, Help: "of this kind; timer, signal and thread are shown only so: nobody decides them"},
		{Name: "order", Kind: api.EnumParam, Values: []string{"desc", "asc", "deadline"}, Def: "desc", Help: "of open gates: desc is newest first, asc is oldest first, deadline the earliest first and then those without one"},
		{Name: "counts", Kind: api.BoolParam, Def: "false", Help: "true: say how many open gates of each question there are, by the same filters, on all pages; at most 5,000 are looked at, and more says that there may be others"},
		limitParam, cursorParam, fieldsParam,
	}
}

func stateNames() (names []string) {
	for _, s := range inbox.States() {
		names = append(names, string(s))
	}
	return names
}

// maxCounted bounds how many gates are counted.
const maxCounted = 5000

// byPerson returns the filters that name a person.
func byPerson() []string { return []string{"assignee", "assigned", "decider", "requester"} }

func (gs *gates) list(w http.ResponseWriter, r *api.Request) error {
	q := inbox.Query{
		Everyone: !slices.ContainsFunc(byPerson(), r.Has), State: inbox.State(r.Query["state"]), Thread: r.Query["thread"], Coordination: r.Query["coordination"], Checkpoint: posthouse.ID(r.Query["checkpoint"]),
		Kind: r.Query["kind"], Question: r.Query["question"], Program: r.Query["program"], Assignee: person(r, "assignee"), Decider: person(r, "decider"),
		Assigned: person(r, "assigned"), Requester: person(r, "requester"), Text: r.Query["q"],
		Snoozed: inbox.Snoozed(r.Query["snoozed"]), Order: inbox.Order(r.Query["order"]), After: r.Query["cursor"], Limit: r.Number("limit", defaultLimit),
	}
	if label := r.Query["label"]; label != "" {
		var err error
		q.Label, q.LabelValue, err = inbox.SplitLabel(label)
		if err != nil {
			return err
		}
	}
	q.Memory = gs.asked
	found, err := inbox.List(r.Context(), gs.ledger, &q)
	if err != nil {
		return err
	}
	named, err := substitutes.Active(r.Context(), gs.ledger)
	if err != nil {
		return err
	}
	page := api.List[*Gate]{Next: found.Next, More: found.More}
	for _, item := range found.Items {
		page.Items = append(page.Items, listed(w, r, gs.ledger, item.Gate, named, item.Err))
	}
	if r.Query["counts"] == "true" {
		c, err := inbox.Count(r.Context(), gs.ledger, &q, maxCounted)
		if err != nil {
			return err
		}
		page.Counts, page.Snoozed, page.More = c.Questions, c.Snoozed, page.More || c.More
	}
	return api.WriteList(w, r, page)
}

// person returns the person whom a filter names.
func person(r *api.Request, name string) string {
	if r.Query[name] == "me" {
		return r.Actor.Name
	}
	return r.Query[name]
}

func (gs *gates) get(w http.ResponseWriter, r *api.Request) error {
	g, err := gs.find(r)
	if err != nil {
		return err
	}
	if g.Decision == nil {
		w.Header().Set("ETag", api.ETag(g.Hash))
	}
	return gs.show(w, r, g)
}

// show answers with one gate as the client may see and decide it.
func (gs *gates) show(w http.ResponseWriter, r *api.Request, g *posthouse.Gate) error {
	named, err := substitutes.Active(r.Context(), gs.ledger)
	if err != nil {
		return err
	}
	v := listed(w, r, gs.ledger, g, named, nil)
	v.Duplicates, err = inbox.Duplicates(r.Context(), gs.ledger, g)
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, v)
}

func (gs *gates) find(r *api.Request) (*posthouse.Gate, error) {
	return gs.ledger.Gate(r.Context(), r.ID("id"))
}

type askAgainBody struct {
	Reason string `json:"reason,omitempty" doc:"why; goes on record, and is shown to who is asked; at most 1,000 bytes"`
}

func (gs *gates) askAgain(w http.ResponseWriter, r *api.Request, b *askAgainBody) error {
	g, err := gs.askedBefore(r)
	if err == nil && g == nil {
		g, err = gs.ledger.AskAgain(r.Context(), r.ID("id"), &ledger.AskAgainOptions{By: r.Actor.Name, Reason: b.Reason})
	}
	if err != nil {
		return err
	}
	w.Header().Set("ETag", api.ETag(g.Hash))
	return api.WriteJSON(w, http.StatusOK, g)
}

// askedBefore returns the gate with which an earlier attempt of the request asked again, or nil.
func (gs *gates) askedBefore(r *api.Request) (*posthouse.Gate, error) {
	if !r.Reserved.Again {
		return nil, nil
	}
	g, err := gs.find(r)
	if err != nil {
		return nil, err
	}
	for again, err := range gs.ledger.Gates(r.Context(), ledger.GateQuery{Thread: g.Thread}) {
		if err != nil {
			return nil, err
		}
		if (again.Supersedes == g.ID || again.Origin == g.ID) && !again.CreatedAt.Before(r.Reserved.At) {
			return again, nil
		}
	}
	return nil, nil
}

func (gs *gates) decideGate(v posthouse.Verdict) func(http.ResponseWriter, *api.Request) error {
	return func(w http.ResponseWriter, r *api.Request) error {
		g, err := gs.find(r)
		if err != nil {
			return err
		}
		return gs.decide(w, r, g, v)
	}
}

// decideCheckpoint decides the one gate of a checkpoint.
func (gs *gates) decideCheckpoint(v posthouse.Verdict) func(http.ResponseWriter, *api.Request) error {
	return func(w http.ResponseWriter, r *api.Request) error {
		id := r.ID("id")
		h, err := gs.ledger.GetHeader(r.Context(), id)
		if err != nil {
			return err
		}
		if len(h.Gates) == 0 {
			return gs.askedNothing(r, h)
		}
		all, err := asked.Of(r.Context(), gs.ledger, h)
		if err != nil {
			return err
		}
		switch open := asked.Undecided(all); len(open) {
		case 0:
			return gs.decide(w, r, all[0], v) // reports the first decision
		case 1:
			return gs.decide(w, r, open[0], v)
		default:
			return &posthouse.Error{
				Code: posthouse.CodeAmbiguous, Gates: asked.IDs(open), Message: "checkpoint " + string(id) + " has several open gates",
				Hint: "decide one of them: POST /api/gates/{id}/" + string(v),
			}
		}
	}
}

// askedNothing says why a checkpoint has nothing to decide, and what to do first if
// its branch is interrupted.
func (gs *gates) askedNothing(r *api.Request, h *posthouse.Header) error {
	e := &posthouse.Error{
		Code: posthouse.CodeConflict, Message: "checkpoint " + string(h.ID) + " asked nothing, so there is nothing to decide",
		Hint: "GET /api/gates lists what waits",
	}
	info, err := gs.ledger.Thread(r.Context(), h.Thread)
	if err != nil {
		return err
	}
	if b, _ := info.Branch(h.Branch); b.Head == h.ID && h.Status == posthouse.StatusInterrupted && len(h.Next) > 0 {
		e.Message = "checkpoint " + string(h.ID) + " is interrupted: it asks once it is resumed"
		e.Hint = "resume first: posthouse resume " + string(h.ID) + ", or POST /api/checkpoints/" + string(h.ID) + "/resume"
	}
	return e
}

type snoozeBody struct {
	Until  time.Time `json:"until,omitzero" doc:"when it comes back; before its deadline"`
	For    Span      `json:"for,omitempty" doc:"instead: after how long, as in 4h or 2d. Without either: with the next reminder or the escalation"`
	By     string    `json:"by,omitempty" doc:"whose inbox, if not the token's owner's; needs the role operator"`
	Reason string    `json:"reason,omitempty" doc:"at most 4,000 bytes"`
}

func (gs *gates) snoozeRoutes(path string) []*api.Route {
	by := []api.Param{{Name: "by", Kind: api.TextParam, Help: "whose inbox, if not the token's owner's; needs the role operator"}}
	return []*api.Route{
		{
			Method: http.MethodPost, Path: path + "/{id}/snooze", Role: tokens.Approver, Summary: "Snooze: hide a gate from one's own inbox for a while",
			Notes: "It moves no deadline and no right: others see the gate, and it can be decided all the same. It comes back at the time, and before that with a reminder or the escalation.",
			Body:  snoozeBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, with its notices", Body: Gate{}, Media: ""}}, Handle: api.Take(gs.snooze),
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}/snooze", Role: tokens.Approver, Summary: "Have a gate back in one's inbox that was hidden", Query: by,
			Answers: []api.Answer{{Status: http.StatusOK, Help: "the gate, with its notices", Body: Gate{}, Media: ""}}, Handle: gs.unsnooze,
		},
	}
}

func (gs *gates) snooze(w http.ResponseWriter, r *api.Request, b *snoozeBody) error {
	switch {
	case b.For != 0 && !b.Until.IsZero():
		return posthouse.Invalid("for", "goes without until")
	case b.For < 0:
		return posthouse.Invalid("for", "must not be negative")
	case b.For > 0:
		b.Until = gs.ledger.Now().Add(time.Duration(b.For))
	}
	return gs.setAside(w, r, b.By, inbox.Snooze{Until: b.Until, Reason: b.Reason}, inbox.Hide)
}

func (gs *gates) unsnooze(w http.ResponseWriter, r *api.Request) error {
	return gs.setAside(w, r, r.Query["by"], inbox.Snooze{}, inbox.Show)
}

func (gs *gates) setAside(w http.ResponseWriter, r *api.Request, by string, s inbox.Snooze, record func(context.Context, *ledger.Ledger, posthouse.ID, inbox.Snooze) (*posthouse.Gate, error)) error {
	g, err := gs.find(r)
	if err != nil {
		return err
	}
	s.By, s.Actor, err = auth.ActingFor(r.Actor, by)
	if err != nil {
		return err
	}
	if r.Reserved.Again && slices.ContainsFunc(g.Notices, func(n posthouse.Notice) bool {
		return n.By == s.By && n.Actor == s.Actor && n.Reason == s.Reason && n.Kind == posthouse.NoticeSnooze && !n.At.Before(r.Reserved.At)
	}) {
		return gs.show(w, r, g) // the first attempt is on record
	}
	g, err = record(context.WithoutCancel(r.Context()), gs.ledger, g.ID, s)
	if err != nil {
		return err
	}
	return gs.show(w, r, g)
}
