package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// maxOpen bounds the approvals that wait in one session.
const maxOpen = 1000

// A Handling says what becomes of a call of a guarded tool.
type Handling uint8

// The ways to handle a call. Any other value denies.
const (
	AskFirst Handling = iota // ask the people at the other end of the session
	Allow                    // run it; put on record as approved by policy:allow
	Deny                     // refuse it
)

// A Policy decides how a call is handled, by its tool (Gate.Name) and arguments
// (Gate.Payload). It is asked at each call, also where an answer is on record.
type Policy func(ctx context.Context, g *posthouse.Gate) Handling

// AllowAll is a [Policy] that runs every call.
func AllowAll(context.Context, *posthouse.Gate) Handling { return Allow }

// DenyAll is a [Policy] that runs no tool.
func DenyAll(context.Context, *posthouse.Gate) Handling { return Deny }

// SessionOptions say who is at the other end of a session.
type SessionOptions struct {
	By       string                      // the principal that tools run for; default: the run's
	Announce func(*posthouse.Gate) error // shows an approval to people, must not block; an error denies. Nil denies all
	Decided  func(*posthouse.Gate)       // gets each answer before the call goes on; must not block
	Policy   Policy                      // default: ask for every call
	Now      func() time.Time            // default [time.Now]

	// Ledger puts approvals on record while they wait, so that [Relay] answers
	// them from anywhere. Nil: they are in memory only.
	Ledger *ledger.Ledger
}

// A Session holds the approvals that wait on one open connection. They are in
// memory, and also on record where SessionOptions.Ledger is set. At most 1,000
// wait at once; the next is denied. It is safe for concurrent use.
type Session struct {
	opt SessionOptions

	mu     sync.Mutex
	open   map[posthouse.ID]*pending
	closed bool
}

// pending is an approval that somebody waits for.
type pending struct {
	gate  *posthouse.Gate
	check func(*posthouse.Decision) error
	done  chan *posthouse.Decision // takes one
	ctx   context.Context          // the call's, without its end
}

// NewSession opens a session. With nil options it cannot ask, and so denies.
func NewSession(o *SessionOptions) *Session {
	s := &Session{open: map[posthouse.ID]*pending{}}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	return s
}

type sessionKey struct{}

// With returns a context in which tools wrapped by [Require] ask this session.
func (s *Session) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// handling asks the policy. One that panics denies, as any unknown answer does.
func (s *Session) handling(ctx context.Context, g *posthouse.Gate) Handling {
	if s == nil || s.opt.Policy == nil {
		return AskFirst
	}
	how, shown := Deny, *g
	if engine.Guard(func() error { how = s.opt.Policy(ctx, &shown); return nil }) != nil {
		return Deny
	}
	if how != AskFirst && how != Allow {
		return Deny
	}
	return how
}

// Waiting returns the approvals that wait, the oldest first.
func (s *Session) Waiting() []*posthouse.Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*posthouse.Gate, 0, len(s.open))
	for _, p := range s.open {
		g := *p.gate
		list = append(list, &g)
	}
	slices.SortFunc(list, func(a, b *posthouse.Gate) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Close denies every approval that waits, and all later ones. It returns how many waited.
// Closing twice returns 0.
func (s *Session) Close() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.open)
	for id, p := range s.open {
		p.done <- &posthouse.Decision{
			Gate: id, Verdict: posthouse.Cancel, By: "posthouse", Reason: "the connection closed", At: s.opt.Now().UTC(),
		}
	}
	clear(s.open)
	s.closed = true
	return n
}

// ask registers the approval, announces it and waits for its decision. The
// verdict is expire or cancel if no person gave a verdict.
func (s *Session) ask(ctx context.Context, g *posthouse.Gate, timeout time.Duration, check func(*posthouse.Decision) error) (*posthouse.Decision, error) {
	if s.opt.Announce == nil {
		return nil, unattended(g.Name)
	}
	p := &pending{gate: g, check: check, done: make(chan *posthouse.Decision, 1), ctx: context.WithoutCancel(ctx)}
	now := s.opt.Now().UTC()
	g.ID, g.CreatedAt, g.ExpiresAt = newID(), now, now.Add(timeout)
	if err := s.register(p); err != nil {
		return nil, err
	}
	if s.opt.Ledger == nil {
		return s.await(ctx, p, timeout)
	}
	r, err := s.relay(ctx, p)
	if err != nil {
		s.removePending(g.ID)
		return nil, err
	}
	d, err := s.await(ctx, p, timeout)
	said := d
	if err != nil {
		said = &posthouse.Decision{Gate: g.ID, Verdict: posthouse.Cancel}
	}
	first, ended := r.closeThread(p, said)
	if ended != nil {
		return nil, errors.Join(err, ended)
	}
	if first != said {
		return first, nil
	}
	return d, err
}

// await announces the approval and waits for its decision.
func (s *Session) await(ctx context.Context, p *pending, timeout time.Duration) (*posthouse.Decision, error) {
	g := p.gate
	shown := *g
	if err := engine.Guard(func() error { return s.opt.Announce(&shown) }); err != nil {
		s.removePending(g.ID)
		return nil, &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "the approval of tool " + g.Name + " could not be announced, so nobody can give it", Err: err,
		}
	}
	var late *posthouse.Decision
	var ended error
	select {
	case d := <-p.done:
		return d, nil
	case <-time.After(timeout):
		late = &posthouse.Decision{Gate: g.ID, Verdict: posthouse.Expire, By: "posthouse", Reason: "no answer within " + timeout.String(), At: s.opt.Now().UTC()}
	case <-ctx.Done():
		ended = context.Cause(ctx)
	}
	if s.removePending(g.ID) == nil {
		return <-p.done, nil // somebody was just in time
	}
	return late, ended
}

func (s *Session) register(p *pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return unattended(p.gate.Name)
	case len(s.open) >= maxOpen:
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "too many approvals wait in this session", Hint: "answer them first"}
	}
	s.open[p.gate.ID] = p
	return nil
}

// removePending removes an approval. The caller that gets it decides it.
func (s *Session) removePending(id posthouse.ID) *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.open[id]
	delete(s.open, id)
	return p
}

// Decide answers an approval that waits and continues its call. By and Verdict are
// required. After an error it still waits. [posthouse.ErrNotFound] for an id that does
// not wait here: it was answered, ran out, or is another session's;
// [posthouse.ErrForbidden] if By is not among the assignees; [posthouse.ErrInvalid] for a
// verdict that is not allowed and a value that does not fit the tool.
func (s *Session) Decide(id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
	s.mu.Lock()
	p := s.open[id]
	s.mu.Unlock()
	if p == nil {
		return nil, notWaiting(id)
	}
	d.Gate, d.At = id, s.opt.Now().UTC()
	if err := p.mayDecide(&d); err != nil {
		return nil, err
	}
	if s.opt.Ledger != nil {
		g, err := s.opt.Ledger.Decide(p.ctx, id, d)
		if err != nil {
			return nil, gone(id, err)
		}
		d = *g.Decision
	}
	g := *p.gate
	g.Decision = &d
	if s.removePending(id) != nil {
		s.deliver(p, &d)
	} else if s.opt.Ledger == nil { // else the watch delivered it first
		return nil, notWaiting(id)
	}
	return &g, nil
}

// deliver continues the call of an approval that was taken.
func (s *Session) deliver(p *pending, d *posthouse.Decision) {
	if s.opt.Decided != nil {
		shown, told := *p.gate, *d
		shown.Decision = &told
		_ = engine.Guard(func() error { s.opt.Decided(&shown); return nil }) // a listener's panic changes nothing
	}
	sent := *d
	p.done <- &sent
}

func (p *pending) mayDecide(d *posthouse.Decision) error {
	if err := posthouse.CheckDecider("by", d.By); err != nil {
		return err
	}
	if err := posthouse.CheckPerson("by", d.Actor); err != nil { // the actor is the owner of this connection
		return err
	}
	switch {
	case !posthouse.KnownVerdict(d.Verdict) || !p.gate.Allows(d.Verdict):
		return posthouse.Invalid("verdict", "%q is not among those this approval allows", d.Verdict)
	case len(p.gate.Assignees) > 0 && !slices.ContainsFunc(p.gate.Assignees, func(n string) bool { return posthouse.SameName(n, d.By) }):
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: d.By + " is not among those this approval is assigned to"}
	}
	d.Reason = clip(d.Reason)
	return p.check(d)
}

// Answer is [Session.Decide] with a message of the chat. A message that does not fit
// denies, such as an edit with malformed arguments.
func (s *Session) Answer(m Message, by, actor string) (*posthouse.Gate, error) {
	return m.answer(by, actor, func(d posthouse.Decision) (*posthouse.Gate, error) { return s.Decide(m.ID, d) })
}

// answer decides with the message, or denies where it does not fit.
func (m *Message) answer(by, actor string, decide func(posthouse.Decision) (*posthouse.Gate, error)) (*posthouse.Gate, error) {
	d := posthouse.Decision{Verdict: m.Verdict, Value: m.Value, Reason: m.Reason, By: by, Actor: actor}
	g, err := decide(d)
	if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Code == posthouse.CodeInvalid && e.Field != "by" && d.Verdict != posthouse.Reject {
		d.Verdict, d.Value, d.Reason = posthouse.Reject, nil, clip(e.Error())
		return decide(d)
	}
	return g, err
}

// A Routing says what became of a text.
type Routing uint8

// The routings.
const (
	NotApproval Routing = iota // no answer to an approval: a message like any other
	UnknownID                  // an answer to an approval that does not wait here
	Refused                    // the sender may not answer it; it still waits
	Resolved                   // it answered an approval
)

// Receive takes a text from a sender and answers the approval that it names, if it names
// one. With several sessions, call each until one returns Resolved.
func (s *Session) Receive(text, by string) Routing {
	m, ok := ParseMessage(text)
	if !ok {
		return NotApproval
	}
	if m.By != "" && m.By != by {
		return Refused
	}
	switch _, err := s.Answer(m, by, ""); {
	case err == nil:
		return Resolved
	case errors.Is(err, posthouse.ErrNotFound):
		return UnknownID
	}
	return Refused
}

// newID returns an id that cannot be guessed.
func newID() posthouse.ID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return posthouse.ID(idPrefix + hex.EncodeToString(b[:]))
}

const idPrefix = "apr_"

func notWaiting(id posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "no approval " + string(id) + " waits in this session", Hint: "it was answered, ran out, or its connection closed",
	}
}

func unattended(tool string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: "tool " + tool + " needs an approval and nobody can be asked here",
		Hint: "talk to the agent over a WebSocket, install a gate.Session, or ask durably with gate.Ask",
	}
}
