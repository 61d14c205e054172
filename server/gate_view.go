package server

import (
	"net/http"
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
	MayTakeBack Action = "take-back"
	MaySnooze   Action = "snooze"
	MayAskAgain Action = "ask-again"

	MayHappened Action = "happened"
	MayRedo     Action = "redo"
	MayGiveUp   Action = "give-up"
)

// A Gate is a gate as the inbox lists it.
type Gate struct {
	posthouse.Gate
	Asked
	State      inbox.State       `json:"state" doc:"open, decided, expired or withdrawn"`
	May        []Action          `json:"may" doc:"what the caller may do with it in their own name: give these verdicts, delegate, take-back (what they delegated), snooze, ask-again"`
	Barred     string            `json:"barred,omitempty" doc:"why the caller may not give the others that the gate allows"`
	For        string            `json:"substituteFor,omitempty" doc:"in whose place the caller may decide it, as their substitute"`
	Why        string            `json:"why,omitempty" doc:"why it was decided: the reason of its decision, but for gates that an earlier version withdrew with the cancellation of their branch. Their decision says that the branch went on, and this says who cancelled it"`
	Snooze     *time.Time        `json:"snoozedUntil,omitempty" doc:"until when the caller hid it from their own inbox"`
	Before     *diff.AskedBefore `json:"before,omitempty" doc:"what the gate showed that this one supersedes"`
	Duplicates []inbox.Duplicate `json:"duplicates,omitempty" doc:"of one open gate, not in lists: questions of its name on other branches of its thread, or in threads that were forked or copied from it or it from them, which wait too or got a yes after they parted, the newest first, at most 20. An approval of each has its effect done twice"`
	Error      *problem.Details  `json:"error,omitempty" doc:"why it cannot be read; its id, thread, branch, kind and deadline are known all the same"`
}

// Asked is what every door shows of a question first.
type Asked struct {
	Intent  string              `json:"intent" doc:"what is asked in one line: the first line of the text, or the name"`
	Binding []gate.BindingField `json:"binding" doc:"what a decision is about: all members of the payload, in their order"`
	Terms   []gate.Term         `json:"terms" doc:"what else an answer counts for: how many effects it licenses and for how long, who may give it, whose change it is"`
	Answers []posthouse.Answer  `json:"answers" doc:"what people may answer, and what each answer does: the only words for it, at every door"`
}

func askedBy(g *posthouse.Gate) Asked {
	a := Asked{Intent: gate.Intent(g), Binding: gate.Binding(g), Terms: gate.Terms(g), Answers: []posthouse.Answer{}}
	if g.AsksPeople() {
		a.Answers = g.Answers()
	}
	if a.Binding == nil {
		a.Binding = []gate.BindingField{}
	}
	return a
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
	v.Why, err = inbox.Why(r.Context(), l, g)
	if err != nil {
		v.Error = unread(w, err)
	}
	v.Before = diff.Before(r.Context(), l, g)
	role := auth.RequireRole(to, tokens.Approver)
	seen := deciders.SeenBy(g, to.Name, named, l.Now())
	if seen != g {
		v.For = seen.Assignments[len(g.Assignments)].By
	}
	for _, verdict := range g.Choices() {
		if g.Decision != nil {
			break
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
	if role == nil {
		if _, err := deciders.MayTakeBack(g, &posthouse.Delegation{By: to.Name}, l.Now()); err == nil {
			v.May = append(v.May, MayTakeBack)
		}
	}
	if role == nil && deciders.MaySnooze(seen, to.Name, l.Now()) == nil {
		v.May = append(v.May, MaySnooze)
	}
	if until := deciders.SnoozedUntil(g, to.Name, l.Now()); !until.IsZero() {
		v.Snooze = &until
	}
	if to.Role.May(tokens.Operator) && deciders.MayAskAgain(g, l.Now()) == nil {
		v.May = append(v.May, MayAskAgain)
	}
	return v
}
