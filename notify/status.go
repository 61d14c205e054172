package notify

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
)

// A Status says how an endpoint is.
type Status struct {
	Name        string `json:"name" doc:"the endpoint's name"`
	Kind        string `json:"kind" doc:"of its channel, as in webhook"`
	Address     string `json:"address" doc:"where the receiver is, without secrets"`
	Events      []Type `json:"events,omitempty" doc:"types of events that it is told of; absent: all"`
	Rule        Rule   `json:"when,omitzero" doc:"conditions that an event must meet; absent: there are none"`
	OmitContent bool   `json:"omitContent,omitempty" doc:"it is sent names, ids and times only"`
	DecideFor   string `json:"decideFor,omitempty" doc:"the person in whose name its receiver decides, without a login"`

	State State     `json:"state" doc:"new (no process has had it yet), ok, retrying (some messages are tried again), down (nothing new is told until a delivery succeeds) or gone (the receiver wants no more)"`
	Owner string    `json:"owner,omitempty" doc:"the process that has the endpoint; absent: no process"`
	Since time.Time `json:"since,omitzero" doc:"what happened before is not told"`
	At    time.Time `json:"at,omitzero" doc:"of the newest entry of the log that the endpoint has passed, as it was last saved"`

	Delivered   uint64    `json:"delivered" doc:"messages that the receiver took"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero" doc:"when it took the newest"`
	Pending     int       `json:"pending" doc:"messages that wait for another attempt"`
	Oldest      time.Time `json:"oldest,omitzero" doc:"when the oldest of them was tried first"`
	Next        time.Time `json:"next,omitzero" doc:"when the next attempt is"`
	GivenUp     uint64    `json:"givenUp" doc:"messages that were given up after all their attempts"`
	Last        []string  `json:"lastGivenUp,omitempty" doc:"ids of the newest of them"`

	Error  *ErrorStatus  `json:"error,omitempty" doc:"the newest attempt that failed"`
	Replay *ReplayStatus `json:"replay,omitempty" doc:"the newest replay"`
}

// An ErrorStatus is the newest attempt that failed.
type ErrorStatus struct {
	Message  string    `json:"message" doc:"how it failed"`
	At       time.Time `json:"at" doc:"when"`
	Failures int       `json:"failures" doc:"attempts that failed since the newest delivery"`
	Since    time.Time `json:"since,omitzero" doc:"when the first of them failed; absent: not known"`
}

// A State says in a word how an endpoint is.
type State string

// The states of endpoints.
const (
	StateNew      State = "new"      // no process has had it yet
	StateOK       State = "ok"       // it is told
	StateRetrying State = "retrying" // some messages are tried again
	StateDown     State = "down"     // nothing new is told until a delivery succeeds
	StateGone     State = "gone"     // the receiver wants no more; [Notifier.Resume] goes on
)

// A ReplayStatus says how far a replay is.
type ReplayStatus struct {
	From   time.Time `json:"from" doc:"what happened before is not sent again"`
	To     time.Time `json:"to" doc:"nor what happened after"`
	By     string    `json:"by,omitempty" doc:"who asked for it"`
	Sent   uint64    `json:"sent" doc:"messages that the receiver took"`
	Failed uint64    `json:"failed" doc:"messages that were given up"`
	Ended  time.Time `json:"ended,omitzero" doc:"when it ended; absent: it is under way"`
}

// List returns how the endpoints are, in the order of the configuration.
func (n *Notifier) List(ctx context.Context) ([]Status, error) {
	all := make([]Status, 0, len(n.endpoints))
	for i := range n.endpoints {
		s, err := n.status(ctx, &n.endpoints[i])
		if err != nil {
			return nil, err
		}
		all = append(all, *s)
	}
	return all, nil
}

func (n *Notifier) status(ctx context.Context, e *Endpoint) (*Status, error) {
	s := &Status{
		Name: e.Name, Kind: e.Channel.Kind(), Address: e.Channel.Address(), Events: e.Events, Rule: e.Rule, OmitContent: e.OmitContent, DecideFor: e.DecideFor,
		State: StateNew,
	}
	slot, err := n.ledger.Store().Slot(ctx, stateKey(e.Name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	have, err := readState(slot.Value)
	if err != nil {
		return nil, err
	}
	switch {
	case !have.Gone.IsZero() && have.Address == s.Address:
		s.State = StateGone
	case have.isDown():
		s.State = StateDown
	case len(have.Pending) > 0:
		s.State = StateRetrying
	default:
		s.State = StateOK
	}
	s.Owner, s.Since, s.At = have.Owner, have.Since, have.At
	s.Delivered, s.DeliveredAt, s.Pending = have.Delivered, have.DeliveredAt, len(have.Pending)
	s.GivenUp, s.Last = have.GivenUp, have.Last
	if have.Error != "" {
		s.Error = &ErrorStatus{Message: have.Error, At: have.ErrorAt, Failures: have.Failures, Since: have.Failing}
	}
	s.Oldest = have.oldest()
	if p, at := have.due(); p != nil {
		s.Next = at
	}
	if r := have.Replay; r != nil {
		s.Replay = &ReplayStatus{From: r.From, To: r.To, By: r.By, Sent: r.Sent, Failed: r.Failed, Ended: r.Ended}
	}
	return s, nil
}

// Replay sends an endpoint again what happened since a time until now, beside what happens. Messages
// have the ids that they had. The process that has the endpoint does it, also after a restart: see
// [Status.Replay]. It ends an earlier replay of the endpoint.
//
// It walks over the threads that changed since then, one after the other. [posthouse.ErrNotFound] for an
// unknown endpoint, [posthouse.ErrInvalid] for a time to come.
func (n *Notifier) Replay(ctx context.Context, name string, since time.Time, by string) error {
	now := n.ledger.Now()
	if since.IsZero() || since.After(now) {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "since", Message: "is not a time that has passed", Hint: "as in 2026-11-26T09:00:00Z, or 2h for the last two hours"}
	}
	return n.ask(ctx, name, func(a *ask) { a.Replay = &replay{From: since.Truncate(time.Millisecond), To: now, By: clip(by, 200)} })
}

// Resume has an endpoint go on that its receiver stopped (HTTP 410), and tries what waits at once.
// [posthouse.ErrNotFound] for an unknown endpoint.
func (n *Notifier) Resume(ctx context.Context, name string) error {
	return n.ask(ctx, name, func(a *ask) { a.Resume = true })
}

// ask leaves word for the process that has the endpoint.
func (n *Notifier) ask(ctx context.Context, name string, change func(*ask)) error {
	if _, err := n.find(name); err != nil {
		return err
	}
	store := n.ledger.Store()
	for {
		slot, err := store.Slot(ctx, askKey(name), posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
		a := new(ask)
		if err == nil {
			_ = json.Unmarshal(slot.Value, a) // what cannot be read is replaced
		} else {
			slot.Revision = 0
		}
		change(a)
		value, err := json.Marshal(a)
		if err != nil {
			return err
		}
		_, err = store.Slot(ctx, askKey(name), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: slot.Revision})
		if errors.Is(err, posthouse.ErrConflict) {
			continue
		}
		if err == nil {
			select {
			case n.kicks[name] <- struct{}{}:
			default:
			}
		}
		return err
	}
}
