package notify

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/substitutes"
)

// A source makes events of what is on record, for one endpoint.
type source struct {
	ledger *ledger.Ledger
	url    string // of the pages
	rule   *Rule
	types  []Type // empty: all
	bare   bool   // content is left out

	// follows has assignments and decisions of every gate told.
	follows bool

	// approve makes the approval of an open gate; nil: the endpoint decides for no person.
	approve func(context.Context, *posthouse.Gate) (*Approval, error)
}

// approval adds the approval of a gate to messages about it, while it is open.
func (s *source) approval(ctx context.Context, all []*Message, g *posthouse.Gate) ([]*Message, error) {
	if s.approve == nil || len(all) == 0 || g.Decision != nil {
		return all, nil
	}
	a, err := s.approve(ctx, g)
	if a == nil || err != nil {
		return all, err
	}
	for _, m := range all {
		shown := *m.Event.Data.Gate
		shown.Approval = a
		m.Event.Data.Gate = &shown
	}
	return all, nil
}

func (s *source) wants(types ...Type) bool {
	return len(s.types) == 0 || slices.ContainsFunc(types, func(t Type) bool { return slices.Contains(s.types, t) || s.followed(t) })
}

// followed reports whether events of a type are told whatever the rule says.
func (s *source) followed(t Type) bool { return s.follows && (t == GateAssigned || t == GateDecided) }

// messages returns what the endpoint is to be told of one record. An error is the store's.
func (s *source) messages(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	switch {
	case r.Gate != nil && s.wants(GateOpened, EffectUnknown):
		return s.opened(ctx, r)
	case r.Assignment != nil && r.Assignment.Substitution == "" && s.wants(GateAssigned):
		return s.assigned(ctx, r)
	case r.Notice != nil && r.Notice.Kind == posthouse.NoticeReminder && s.wants(GateReminded):
		return s.reminded(ctx, r)
	case r.Decision != nil && s.wants(GateDecided):
		return s.decided(ctx, r)
	case r.Step != nil && s.wants(EffectExecuted):
		return s.executed(ctx, r)
	case r.Checkpoint != nil && s.wants(ThreadEnded, ThreadFailed, EffectExecuted):
		return s.checkpoint(r), nil
	}
	return nil, nil
}

// asksPeople reports whether a gate is one that people are told of: not a wait of the runtime, nor a
// copy, which is for reading.
func asksPeople(g *posthouse.Gate) bool {
	return g.AsksPeople() && g.Kind != posthouse.GateSession && g.Origin == ""
}

func (s *source) opened(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	g := r.Gate
	if !asksPeople(g) {
		return nil, nil
	}
	now, err := s.gate(ctx, g.ID)
	if now == nil || err != nil || now.Decision != nil && now.Decision.Seq == r.Seq {
		return nil, err // it is gone, or was never open: a policy of the program answered
	}
	program, err := s.program(ctx, r.Thread)
	if err != nil {
		return nil, err
	}
	opened := now.Clone()
	opened.Decision, opened.Votes, opened.Assignments = nil, nil, nil
	about := Data{Thread: r.Thread, Branch: g.Branch, Seq: r.Seq, Program: program, Gate: gateOf(opened, s.url)}
	all := s.make(nil, GateOpened, r, about, opened, string(g.ID))
	if g.Kind == posthouse.GateOutcome {
		name := g.Name
		if i := strings.LastIndexByte(name, '>'); i > 0 {
			name = name[:i] // the question is asked within the effect
		}
		about.Effect = &Effect{Name: name, Task: g.Task}
		all = s.make(all, EffectUnknown, r, about, opened, string(g.ID))
	}
	for _, m := range all {
		m.Decided = now.Decision != nil
	}
	return s.approval(ctx, all, now)
}

func (s *source) assigned(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	a := r.Assignment
	g, err := s.gate(ctx, a.Gate)
	if g == nil || err != nil || !asksPeople(g) {
		return nil, err
	}
	program, err := s.program(ctx, r.Thread)
	if err != nil {
		return nil, err
	}
	about := Data{
		Thread: r.Thread, Branch: g.Branch, Seq: r.Seq, Program: program, Gate: gateOf(g, s.url),
		Assignment: &Assignment{By: a.By, To: a.To, Reason: a.Reason, Escalation: a.Escalation, TakenBack: a.TakesBack != 0},
	}
	return s.approval(ctx, s.make(nil, GateAssigned, r, about, g, string(a.Gate), strconv.FormatUint(r.Seq, 10)), g)
}

// reminded tells of a reminder, unless the gate was decided before the endpoint came to it.
func (s *source) reminded(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	n := r.Notice
	g, err := s.gate(ctx, n.Gate)
	if g == nil || err != nil || !asksPeople(g) || g.Decision != nil {
		return nil, err
	}
	program, err := s.program(ctx, r.Thread)
	if err != nil {
		return nil, err
	}
	about := Data{
		Thread: r.Thread, Branch: g.Branch, Seq: r.Seq, Program: program, Gate: gateOf(g, s.url), Reminder: &Reminder{Next: n.Until},
	}
	named, err := substitutes.Active(ctx, s.ledger)
	if err != nil {
		return nil, err
	}
	about.Reminder.To = reminded(g, named, s.ledger.Now())
	return s.approval(ctx, s.make(nil, GateReminded, r, about, g, string(n.Gate), strconv.FormatUint(r.Seq, 10)), g)
}

// reminded returns who may decide a gate and has not voted, with those who stand in for them.
func reminded(g *posthouse.Gate, named []deciders.Substitution, now time.Time) (all []string) {
	for _, d := range deciders.Of(g, now) {
		if !deciders.OpenTo(g, d.Name, now) {
			continue
		}
		all = append(all, d.Name)
		for i := range named {
			if to := named[i].To; posthouse.SameName(named[i].By, d.Name) && !slices.Contains(all, to) && deciders.SeenBy(g, to, named, now) != g {
				all = append(all, to)
			}
		}
	}
	return all
}

func (s *source) decided(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	d := r.Decision
	g, err := s.gate(ctx, d.Gate)
	if g == nil || err != nil || !asksPeople(g) {
		return nil, err
	}
	program, err := s.program(ctx, r.Thread)
	if err != nil {
		return nil, err
	}
	about := Data{
		Thread: r.Thread, Branch: g.Branch, Seq: r.Seq, Program: program, Gate: gateOf(g, s.url),
		Decision: &Decision{Verdict: d.Verdict, By: d.By, For: d.For, Reason: d.Reason, Successor: d.Successor, At: r.At},
	}
	if len(d.Value) <= MaxContent {
		about.Decision.Value = d.Value
	}
	return s.make(nil, GateDecided, r, about, g, string(d.Gate)), nil
}

func (s *source) executed(ctx context.Context, r *posthouse.Event) ([]*Message, error) {
	if r.Step.Grant == "" && r.Step.Effect != posthouse.EffectExternal {
		return nil, nil
	}
	u := grants.Gather().Add(&posthouse.Entry{Thread: r.Thread, Seq: r.Seq}, 0, &posthouse.Record{Kind: r.Kind, Step: r.Step})
	if u == nil || u.Status != grants.Executed {
		return nil, nil
	}
	program, err := s.program(ctx, r.Thread)
	if err != nil {
		return nil, err
	}
	about := Data{
		Thread: r.Thread, Branch: u.Branch, Seq: r.Seq, Program: program,
		Effect: &Effect{Name: u.Name, Task: u.Task, Occurrence: u.Occurrence, Grant: u.Grant},
	}
	return s.make(nil, EffectExecuted, r, about, nil, r.Thread, strconv.FormatUint(r.Seq, 10), u.Branch, u.Task, u.Name, strconv.FormatUint(uint64(u.Occurrence), 10)), nil
}

// checkpoint tells of a run that ended, and of a node that was an effect as a whole.
func (s *source) checkpoint(r *posthouse.Event) (all []*Message) {
	h := r.Checkpoint
	about := Data{Thread: r.Thread, Branch: h.Branch, Seq: r.Seq, Program: h.Graph}
	if s.wants(EffectExecuted) && h.Kind == posthouse.KindNode {
		u := grants.Gather().Add(&posthouse.Entry{Thread: r.Thread, Seq: r.Seq}, 0, &posthouse.Record{Kind: r.Kind, Checkpoint: h})
		if u != nil {
			acted := about
			acted.Effect = &Effect{Name: u.Name}
			all = s.make(all, EffectExecuted, r, acted, nil, string(h.ID))
		}
	}
	switch h.Kind {
	case posthouse.KindFork, posthouse.KindUpdate, posthouse.KindMigrate, posthouse.KindRestartStep, posthouse.KindInner, posthouse.KindEvent:
		return all // made of one that ended before, or in the middle of a step
	}
	about.Run = &Run{Checkpoint: h.ID, Status: h.Status, Node: h.Node, Error: h.Error, Labels: h.Labels}
	switch h.Status {
	case posthouse.StatusDone, posthouse.StatusCancelled:
		all = s.make(all, ThreadEnded, r, about, nil, string(h.ID))
	case posthouse.StatusFailed:
		all = s.make(all, ThreadFailed, r, about, nil, string(h.ID))
	}
	return all
}

// make adds a message if the endpoint wants it.
func (s *source) make(all []*Message, t Type, r *posthouse.Event, about Data, g *posthouse.Gate, key ...string) []*Message {
	e := &Event{Type: t, At: r.At, Data: about}
	asked := (len(s.types) == 0 || slices.Contains(s.types, t)) && s.rule.admits(e, g)
	if !asked && !s.followed(t) {
		return all
	}
	if s.bare {
		e = e.withoutContent()
	}
	return append(all, &Message{ID: messageID(append([]string{string(t)}, key...)...), Event: e, Decided: g != nil && g.Decision != nil, Followed: !asked})
}

// messageID returns the id of a message: it follows from what the message is about.
func messageID(about ...string) string {
	b := []byte("posthouse notify 1")
	for _, s := range about {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:20])
}

// gate returns a gate, nil for one that is not there any more or that cannot be read.
func (s *source) gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := s.ledger.Gate(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed) {
		return nil, nil
	}
	return g, err
}

// program returns the name of a thread's program, empty for a thread that is gone.
func (s *source) program(ctx context.Context, thread string) (string, error) {
	info, err := s.ledger.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrCorrupt) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return info.Graph, nil
}

// find returns the message with an id that an entry gives rise to, nil if it is gone.
func (s *source) find(ctx context.Context, thread string, seq uint64, id string) (*Message, error) {
	for e, err := range s.ledger.Log(ctx, thread, posthouse.Range{Seqs: []uint64{seq}}) {
		if errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed) || errors.Is(err, posthouse.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range e.Events {
			all, err := s.messages(ctx, r)
			if err != nil {
				return nil, err
			}
			for _, m := range all {
				if m.ID == id {
					return m, nil
				}
			}
		}
	}
	return nil, nil
}
