package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/substitutes"
)

// A Told is how it stands with telling one endpoint of one event of a gate.
type Told struct {
	Endpoint string    `json:"endpoint" doc:"its name"`
	Kind     string    `json:"kind" doc:"of its channel, as in webhook, slack or mail"`
	Event    Type      `json:"event" doc:"type of the event: gate.opened, gate.assigned, gate.reminded, gate.decided or effect.unknown"`
	Seq      uint64    `json:"seq" doc:"the event's entry in the thread's log"`
	Happened time.Time `json:"happened" doc:"when the event happened"`

	State    ToldState `json:"state" doc:"told (the receiver took it), retrying (attempts failed, and another follows), waiting (not tried yet), stopped (the receiver wants no more), givenUp (no other attempt follows), passed (there was nothing to send any more, or nobody to send it to), earlier (it happened before the endpoint was set up) or unknown (not on record, or not any more)"`
	At       time.Time `json:"at,omitzero" doc:"of told: when the receiver took it; else when it was tried last"`
	Attempts int       `json:"attempts,omitempty" doc:"that were made, with those of replays"`
	First    time.Time `json:"first,omitzero" doc:"when it was tried first"`
	Next     time.Time `json:"next,omitzero" doc:"of retrying: when the next attempt is due"`
	To       []string  `json:"to,omitempty" doc:"people who have it, as far as the channel knows them; of retrying: others do not"`
	Others   int       `json:"others,omitempty" doc:"how many more people have it"`
	Status   int       `json:"status,omitempty" doc:"of the answer that was no success"`
	Error    string    `json:"error,omitempty" doc:"how the newest attempt failed, of waiting and stopped the endpoint's; for operators, since it may name addresses"`
	Failing  time.Time `json:"failing,omitzero" doc:"since when the endpoint takes nothing; absent: it does, or nothing is known"`
}

// GateTold is who was told of a gate.
type GateTold struct {
	Endpoints int    `json:"endpoints" doc:"how many endpoints this server's configuration has; 0: it tells nobody of anything"`
	Items     []Told `json:"items" doc:"an item for each event of the gate and each endpoint that is told of such events, in the order of the events"`
}

// A ToldState says in a word how it stands with telling an endpoint of an event.
type ToldState string

// The states of telling.
const (
	ToldTaken    ToldState = "told"     // the receiver took the message
	ToldRetrying ToldState = "retrying" // attempts failed, and another follows
	ToldWaiting  ToldState = "waiting"  // it was not tried: the endpoint is not that far
	ToldStopped  ToldState = "stopped"  // the receiver wants no more messages
	ToldGivenUp  ToldState = "givenUp"  // no other attempt follows
	ToldPassed   ToldState = "passed"   // there was nothing to send any more, or no person to send it to
	ToldEarlier  ToldState = "earlier"  // it happened before the endpoint was set up
	ToldUnknown  ToldState = "unknown"  // it is not on record, or not any more
)

// maxAssigned is how many assignments of a gate are looked at: the newest.
const maxAssigned = 20

// A happening is an event of a gate that endpoints may be told of.
type happening struct {
	id    string // of its message
	event *Event
	moot  bool // whoever was not told of it is not told any more
}

// Told returns who was told of a gate, by the slots of the endpoints and of the gate: all servers over a store
// with one configuration answer the same, also after restarts. It has no item for a gate that no endpoint is
// told of. [posthouse.ErrNotFound] for an unknown gate.
func (n *Notifier) Told(ctx context.Context, id posthouse.ID) (*GateTold, error) {
	g, err := n.ledger.Gate(ctx, id)
	if err != nil {
		return nil, err
	}
	told := &GateTold{Endpoints: len(n.endpoints), Items: []Told{}}
	if !asksPeople(g) || len(n.endpoints) == 0 {
		return told, nil
	}
	events, err := n.happened(ctx, g)
	if err != nil {
		return nil, err
	}
	for i := range n.endpoints {
		some, err := n.toldOf(ctx, &n.endpoints[i], g, events)
		if err != nil {
			return nil, err
		}
		told.Items = append(told.Items, some...)
	}
	slices.SortStableFunc(told.Items, func(a, b Told) int { return cmp.Compare(a.Seq, b.Seq) })
	return told, nil
}

// happened returns the events of a gate, with what rules look at.
func (n *Notifier) happened(ctx context.Context, g *posthouse.Gate) (all []*happening, err error) {
	source := &source{ledger: n.ledger}
	program, err := source.program(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	add := func(t Type, at time.Time, seq uint64, moot bool, about Data, key ...string) {
		about.Thread, about.Branch, about.Seq, about.Program = g.Thread, g.Branch, seq, program
		all = append(all, &happening{messageID(append([]string{string(t), string(g.ID)}, key...)...), &Event{Type: t, At: at, Data: about}, moot})
	}
	d := g.Decision
	if d == nil || d.Seq != g.Seq { // else a policy of the program answered at once
		add(GateOpened, g.CreatedAt, g.Seq, false, Data{})
		if g.Kind == posthouse.GateOutcome {
			add(EffectUnknown, g.CreatedAt, g.Seq, false, Data{})
		}
	}
	for i := max(0, len(g.Assignments)-maxAssigned); i < len(g.Assignments); i++ {
		if a := &g.Assignments[i]; a.Substitution == "" {
			add(GateAssigned, a.At, a.Seq, false, Data{Assignment: &Assignment{To: a.To}}, strconv.FormatUint(a.Seq, 10))
		}
	}
	if slices.ContainsFunc(g.Notices, isReminder) {
		named, err := substitutes.Active(ctx, n.ledger)
		if err != nil {
			return nil, err
		}
		to := &Reminder{To: reminded(g, named, n.ledger.Now())}
		for _, r := range g.Notices {
			if isReminder(r) {
				add(GateReminded, r.At, r.Seq, d != nil, Data{Reminder: to}, strconv.FormatUint(r.Seq, 10))
			}
		}
	}
	if d != nil {
		add(GateDecided, d.At, d.Seq, false, Data{})
	}
	return all, nil
}

func isReminder(n posthouse.Notice) bool { return n.Kind == posthouse.NoticeReminder }

// toldOf returns how it stands with telling an endpoint.
func (n *Notifier) toldOf(ctx context.Context, e *Endpoint, g *posthouse.Gate, events []*happening) (all []Told, err error) {
	kept, _, err := readReceipt(ctx, n.ledger.Store(), receiptKey(g.Thread, e.Name, g.ID))
	if err != nil {
		return nil, err
	}
	var have *state
	slot, err := n.ledger.Store().Slot(ctx, stateKey(e.Name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err == nil {
		have, err = readState(slot.Value)
	}
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
		return nil, err
	}
	for _, h := range events {
		s := kept.find(h.id)
		asked := (len(e.Events) == 0 || slices.Contains(e.Events, h.event.Type)) && e.Rule.admits(h.event, g)
		if s == nil && (!asked || h.moot) {
			continue
		}
		t := Told{Endpoint: e.Name, Kind: e.Channel.Kind(), Event: h.event.Type, Seq: h.event.Data.Seq, Happened: h.event.At}
		t.stand(h, s, have, e.Channel.Address())
		all = append(all, t)
	}
	return all, nil
}

// stand says how it stands with a message, by what is kept of it and of the endpoint. It says told only
// where the receiver took it.
func (t *Told) stand(h *happening, s *sent, have *state, address string) {
	if s != nil {
		t.At, t.First, t.Attempts, t.To, t.Others = s.Last, s.First, s.Attempts, s.To, s.Others
	}
	if have != nil && have.Failures > 0 {
		t.Failing = have.Failing
	}
	took := have.took(h.id, s)
	switch p := have.waiting(h.id); {
	case !took.IsZero():
		t.State, t.At, t.Failing = ToldTaken, took, time.Time{}
		t.Attempts = max(t.Attempts, 1)
		return
	case s != nil && s.Passed:
		t.State, t.Failing = ToldPassed, time.Time{}
		return
	case s != nil && s.GivenUp || have != nil && slices.Contains(have.Last, h.id):
		t.State = ToldGivenUp
	case s == nil && (have == nil || h.event.At.Before(have.Since.Truncate(time.Millisecond))):
		t.State = ToldEarlier
	case have == nil:
		t.State = ToldUnknown
	case p == nil && have.At.After(h.event.At) && (s == nil || !have.replays()):
		t.State = ToldUnknown // it is passed: what there was of it is lost
	case !have.Gone.IsZero() && have.Address == address:
		t.State = ToldStopped
	case s == nil:
		t.State = ToldWaiting
	default:
		t.State = ToldRetrying
		if p != nil {
			t.Next = p.Next
		}
	}
	switch {
	case s != nil:
		t.Status, t.Error = s.Status, s.Error
	case t.State == ToldWaiting && have.Failures > 0, t.State == ToldStopped:
		t.Error = have.Error
	}
}

// took returns when the receiver took a message, zero if it is not known to have.
func (s *state) took(id string, kept *sent) time.Time {
	if kept != nil && !kept.Took.IsZero() {
		return kept.Took
	}
	if s != nil {
		for _, d := range s.Made {
			if d != nil && d.ID == id && d.Delivered {
				return d.At
			}
		}
	}
	return time.Time{}
}

// waiting returns a message that waits for another attempt, nil if it does not.
func (s *state) waiting(id string) *pending {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Pending, func(p *pending) bool { return p != nil && p.ID == id })
	if i < 0 {
		return nil
	}
	return s.Pending[i]
}

// replays reports whether a replay is under way.
func (s *state) replays() bool { return s.Replay != nil && s.Replay.Ended.IsZero() }
