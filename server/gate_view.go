package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// An Action is what a caller may do with a gate: its name is that of the path below the gate.
type Action string

// The actions.
const (
	MayApprove  Action = "approve"
	MayReject   Action = "reject"
	MayEdit     Action = "edit"
	MayRespond  Action = "respond"
	MayDelegate Action = "delegate"
	MaySnooze   Action = "snooze"
	MayAskAgain Action = "ask-again"
)

// A Gate is a gate as the inbox lists it.
type Gate struct {
	posthouse.Gate
	Asked
	State  inbox.State      `json:"state" doc:"open, decided, expired or withdrawn"`
	May    []Action         `json:"may" doc:"what the caller may do with it in their own name: give these verdicts, delegate, snooze, ask-again"`
	Barred string           `json:"barred,omitempty" doc:"why the caller may not give the others that the gate allows"`
	For    string           `json:"substituteFor,omitempty" doc:"in whose place the caller may decide it, as their substitute"`
	Snooze *time.Time       `json:"snoozedUntil,omitempty" doc:"until when the caller hid it from their own inbox"`
	Before *AskedBefore     `json:"before,omitempty" doc:"what the gate showed that this one supersedes"`
	Error  *problem.Details `json:"error,omitempty" doc:"why it cannot be read; its id, thread, branch, kind and deadline are known all the same"`
}

// Asked is what every door shows of a question first.
type Asked struct {
	Intent  string              `json:"intent" doc:"what is asked in one line: the first line of the text, or the name"`
	Binding []gate.BindingField `json:"binding" doc:"what a decision is about: all members of the payload, in their order"`
}

func askedBy(g *posthouse.Gate) Asked {
	a := Asked{Intent: gate.Intent(g), Binding: gate.Binding(g)}
	if a.Binding == nil {
		a.Binding = []gate.BindingField{}
	}
	return a
}

// AskedBefore is what a gate showed that a later one supersedes.
type AskedBefore struct {
	ID      posthouse.ID    `json:"id"`
	Changed bool            `json:"changed" doc:"what is asked is not the same any more; otherwise its answer does not count, or there was none"`
	Text    string          `json:"text,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`

	Paths []diff.PathChange `json:"paths,omitempty" doc:"where the payload differs: a is what it showed, b what is shown now"`
	More  int               `json:"more,omitempty" doc:"how many differences more there are"`
}

// maxChanges is how many differences from an earlier gate are listed.
const maxChanges = 50

// before returns what the gate that g supersedes showed, nil if that gate is gone.
func before(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) *AskedBefore {
	if g.Supersedes == "" {
		return nil
	}
	old, err := l.Gate(ctx, g.Supersedes)
	if err != nil { // deleted, or damaged: g itself can be decided all the same
		return nil
	}
	v := &AskedBefore{ID: old.ID, Changed: old.Content() != g.Content(), Text: old.Text, Payload: old.Payload}
	if v.Changed {
		v.Paths, v.More = diff.JSON(old.Payload, g.Payload)
		if n := len(v.Paths); n > maxChanges {
			v.Paths, v.More = v.Paths[:maxChanges], v.More+n-maxChanges
		}
	}
	return v
}

// listed returns a gate as the inbox shows it to the client. err is why the gate
// cannot be read, or nil. The substitutions are those that hold.
func listed(w http.ResponseWriter, r *api.Request, l *ledger.Ledger, g *posthouse.Gate, named []deciders.Substitution, err error) *Gate {
	to := r.Actor
	v := &Gate{Gate: *g, Asked: askedBy(g), State: inbox.StateOf(g), May: []Action{}}
	if err != nil {
		v.Error = unread(w, err)
		return v
	}
	v.Before = before(r.Context(), l, g)
	role := auth.RequireRole(to, tokens.Approver)
	seen := deciders.SeenBy(g, to.Name, named, l.Now())
	if seen != g {
		v.For = seen.Assignments[len(g.Assignments)].By
	}
	for _, verdict := range posthouse.GateVerdicts() {
		if !g.Allows(verdict) || g.Decision != nil {
			continue
		}
		err := role
		if err == nil && g.Lapsed(l.Now()) {
			err = &posthouse.Error{Code: posthouse.CodeConflict, Message: "its deadline has passed"}
		}
		if err == nil {
			err = deciders.MayDecide(seen, to.Name, verdict, l.Now())
		}
		if err == nil {
			v.May = append(v.May, Action(verdict))
		} else if v.Barred == "" {
			v.Barred = problem.Client(err).Message
		}
	}
	if role == nil && deciders.MayDelegate(g, to.Name, l.Now()) == nil {
		v.May = append(v.May, MayDelegate)
	}
	if role == nil && deciders.MaySnooze(seen, to.Name, l.Now()) == nil {
		v.May = append(v.May, MaySnooze)
	}
	if until := g.SnoozedUntil(to.Name, l.Now()); !until.IsZero() {
		v.Snooze = &until
	}
	if to.Role.May(tokens.Operator) && deciders.MayAskAgain(g, l.Now()) == nil {
		v.May = append(v.May, MayAskAgain)
	}
	return v
}

// gatesOf returns the gates of a checkpoint that ask people. If it has only gates of
// the runtime it returns those, which can be cancelled.
func gatesOf(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) ([]*posthouse.Gate, error) {
	var people, runtime []*posthouse.Gate
	for _, id := range h.Gates {
		g, err := l.Gate(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case g.AsksPeople():
			people = append(people, g)
		default:
			runtime = append(runtime, g)
		}
	}
	if len(people) == 0 {
		return runtime, nil
	}
	return people, nil
}

// openGates returns the gates opened with a checkpoint that people can still
// decide.
func openGates(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) ([]*posthouse.Gate, error) {
	asked, err := gatesOf(ctx, l, h)
	return slices.DeleteFunc(stillOpen(asked), func(g *posthouse.Gate) bool { return !g.AsksPeople() }), err
}

func stillOpen(gates []*posthouse.Gate) (open []*posthouse.Gate) {
	for _, g := range gates {
		if g.Decision == nil {
			open = append(open, g)
		}
	}
	return open
}

func gateIDs(gs []*posthouse.Gate) (ids []posthouse.ID) {
	for _, g := range gs {
		ids = append(ids, g.ID)
	}
	return ids
}
