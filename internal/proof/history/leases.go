package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/ledger"
)

// leases runs two threads through a Ledger of its own: it claims, commits and gives back.
type leases struct {
	*client
	l     *ledger.Ledger
	owner string
	claim *ledger.Claim
}

// leaseTTL is short, so that claims are overtaken.
const leaseTTL = 120 * time.Millisecond

func newLeases(c *client) player {
	return &leases{client: c, owner: fmt.Sprint("owner-", c.number)}
}

func (*leases) name() string { return "leases" }

func (s *leases) close() {
	if s.l != nil {
		_ = s.l.Close()
	}
}

func (s *leases) open() (err error) {
	if s.l == nil {
		s.l, err = ledger.Open(s.store, &ledger.Options{Owner: s.owner, LeaseTTL: leaseTTL})
	}
	return err
}

func (s *leases) play() (err error) {
	if err := s.open(); err != nil {
		return skip(err)
	}
	thread := "l0" // most want the same, and all at first
	if s.n > 0 && s.rnd.IntN(6) == 0 {
		thread = "l1"
	}
	switch {
	case s.claim == nil && s.n > 0 && s.rnd.IntN(6) == 0:
		return s.read(thread)
	case s.claim == nil:
		s.claim, err = s.l.Claim(s.ctx, thread, "run")
		if errors.Is(err, posthouse.ErrBusy) {
			s.claim = nil
			pause(leaseTTL / 10)
			return nil
		}
		return skip(err)
	case s.rnd.IntN(8) == 0:
		return s.release()
	}
	return s.commit()
}

func (s *leases) commit() error {
	c := s.claim
	op := model.Op{Model: s.name(), Do: model.Commit, Key: c.Thread, Owner: s.owner, First: !c.Recorded()}
	if c.Recorded() {
		op.Fence = c.Fence()
	}
	out, err := s.do(op, func() (out model.Answer, err error) {
		made, err := s.l.Commit(s.ctx, &ledger.Draft{
			Thread: c.Thread, Claim: c,
			Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "n", Next: []string{"n"}},
		})
		if err == nil {
			out.Seq, out.Fence = made.Seq, c.Fence()
		}
		return out, err
	})
	if out.Code == model.Busy || out.Code == model.Fenced { // somebody else has it
		return s.release()
	}
	return err
}

func (s *leases) release() error {
	c := s.claim
	s.claim = nil
	op := model.Op{Model: s.name(), Do: model.Release, Key: c.Thread, Owner: s.owner, Fence: c.Fence()}
	_, err := s.do(op, func() (out model.Answer, err error) { return out, c.Release(s.ctx) })
	return err
}

func (s *leases) read(thread string) error {
	_, err := s.do(model.Op{Model: s.name(), Do: model.Lease, Key: thread}, func() (out model.Answer, err error) {
		info, err := s.l.Thread(s.ctx, thread)
		if err == nil {
			out.Fence, out.Held, out.Seq = info.Lease.Fence, info.Lease.Held, info.Tail.Seq
		}
		return out, err
	})
	return err
}

func (s *leases) audit() error { return errors.Join(s.open(), s.read("l0"), s.read("l1")) }
