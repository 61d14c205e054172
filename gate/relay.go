package gate

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Relay answers approvals that wait in sessions anywhere over one ledger: in
// other processes too, where [SessionOptions].Ledger is set.
type Relay struct{ Ledger *ledger.Ledger }

// Decide is [Session.Decide] for an approval that waits in any session over the ledger.
// One answer counts; all others get [posthouse.ErrNotFound]. A value that does not fit the
// tool denies, since only the session knows its tool. If the session is gone the answer is
// on record without effect.
func (r Relay) Decide(ctx context.Context, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
	g, err := r.Ledger.Gate(ctx, id)
	if err != nil {
		return nil, gone(id, err)
	}
	if g.Kind != posthouse.GateSession {
		return nil, notWaiting(id)
	}
	d.Reason = clip(d.Reason)
	g, err = r.Ledger.Decide(ctx, id, d)
	if err != nil {
		return nil, gone(id, err)
	}
	return g, nil
}

// Answer is [Session.Answer] for an approval that waits in any session over the
// ledger.
func (r Relay) Answer(ctx context.Context, m Message, by, actor string) (*posthouse.Gate, error) {
	return m.answer(by, actor, func(d posthouse.Decision) (*posthouse.Gate, error) { return r.Decide(ctx, m.ID, d) })
}

// gone is the error of an answer that did not count: the approval does not wait any more,
// or err.
func gone(id posthouse.ID, err error) error {
	for _, target := range []error{posthouse.ErrNotFound, posthouse.ErrDecided, posthouse.ErrExpired} {
		if errors.Is(err, target) {
			return notWaiting(id)
		}
	}
	return err
}

// A relayed approval is on record in a thread of its own while it waits. The
// thread has the approval's id as its name.
type relayed struct {
	ledger *ledger.Ledger
	id     posthouse.ID
	stop   func() // of listening, and waits for the end of it
}

// watchAgain is how long a session waits after its watch broke off.
const watchAgain = time.Second

// relay puts an approval on record and listens for its answer. ctx is the
// call's.
func (s *Session) relay(ctx context.Context, p *pending) (*relayed, error) {
	r := &relayed{ledger: s.opt.Ledger, id: p.gate.ID}
	listen, cancel := context.WithCancel(ctx)
	watch := r.watch(listen) // before anybody can answer
	g := *p.gate
	g.Schema = nil // of edits alone, while the Ledger's is of responses, too
	root := posthouse.ID("")
	_, err := r.ledger.Commit(ctx, &ledger.Draft{
		Thread: string(r.id), Head: &root, Gates: []posthouse.Gate{g},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: g.Name, By: g.RequestedBy},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if d := r.listen(listen, watch); d != nil {
			s.onDecision(p, d)
		}
	}()
	r.stop = func() { cancel(); <-ended }
	return r, nil
}

func (r *relayed) watch(ctx context.Context) iter.Seq2[*posthouse.Event, error] {
	return r.ledger.Watch(ctx, ledger.WatchQuery{Thread: string(r.id), Cursor: "now"})
}

// listen waits for the answer; nil once ctx has ended.
func (r *relayed) listen(ctx context.Context, watch iter.Seq2[*posthouse.Event, error]) *posthouse.Decision {
	for {
		for e, err := range watch {
			if err != nil {
				break
			}
			if e.Decision != nil && e.Decision.Gate == r.id {
				return e.Decision
			}
		}
		select {
		case <-time.After(watchAgain):
		case <-ctx.Done():
			return nil
		}
		watch = r.watch(ctx)
		if g, err := r.ledger.Gate(ctx, r.id); err == nil && g.Decision != nil { // it came in between
			return g.Decision
		}
	}
}

// onDecision delivers an answer that is on record.
func (s *Session) onDecision(p *pending, d *posthouse.Decision) {
	d = p.fitting(d)
	if s.removePending(p.gate.ID) != nil {
		s.deliver(p, d)
	}
}

// fitting returns the answer on record as it counts: it denies if it does not fit the tool.
func (p *pending) fitting(d *posthouse.Decision) *posthouse.Decision {
	heard := *d
	if heard.Verdict == posthouse.Expire || heard.Verdict == posthouse.Cancel {
		return &heard
	}
	if err := p.check(&heard); err != nil {
		heard.Verdict, heard.Value, heard.Reason = posthouse.Reject, nil, clip(err.Error())
	}
	return &heard
}

// closeThread closes the approval's thread. It returns d, the session's decision, unless another
// one was on record first.
func (r *relayed) closeThread(p *pending, d *posthouse.Decision) (*posthouse.Decision, error) {
	r.stop()
	_, err := r.ledger.Commit(p.ctx, &ledger.Draft{ // what is still open is cancelled with it
		Thread: string(r.id), Checkpoint: &posthouse.Change{Status: posthouse.StatusDone},
	})
	if err != nil || d.Verdict != posthouse.Cancel && d.Verdict != posthouse.Expire {
		return d, err
	}
	g, err := r.ledger.Gate(p.ctx, r.id)
	if err == nil && g.Decision != nil && g.Decision.Verdict != posthouse.Cancel && g.Decision.Verdict != d.Verdict {
		return p.fitting(g.Decision), nil
	}
	return d, err
}
