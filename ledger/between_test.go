package ledger_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A meddled store lets something happen between what a Ledger looked up and
// what it reads on the strength of it: once, before the next Read.
type meddled struct {
	posthouse.Store
	before func()
}

func (s *meddled) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Store.Read(ctx, thread, r)
}

// TestRemovalsInBetweenAreNoDamage has another process delete what was just
// found: readers are told that it is not there, or what is there now.
func TestRemovalsInBetweenAreNoDamage(t *testing.T) {
	ctx := context.Background()
	type scene struct {
		l, other *ledger.Ledger
		store    *meddled
		first    *posthouse.Checkpoint
		last     *posthouse.Committed
	}
	deleteThread := func(s *scene) error { _, err := retain.DeleteThread(ctx, s.other, "t", nil); return err }
	deleteLast := func(s *scene) error { _, err := retain.Delete(ctx, s.other, s.last.Checkpoint.ID, nil); return err }
	notFound := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("the error is %v, want ErrNotFound", err)
		}
	}
	for _, c := range []struct {
		name   string
		meddle func(*scene) error
		read   func(*testing.T, *scene)
	}{
		{"get", deleteThread, func(t *testing.T, s *scene) { _, err := s.l.Get(ctx, s.first.ID); notFound(t, err) }},
		{"header", deleteThread, func(t *testing.T, s *scene) { _, err := s.l.GetHeader(ctx, s.first.ID); notFound(t, err) }},
		{"gate", deleteThread, func(t *testing.T, s *scene) { _, err := s.l.Gate(ctx, s.last.Gates[0].ID); notFound(t, err) }},
		{"fork", deleteThread, func(t *testing.T, s *scene) { _, err := s.l.Fork(ctx, s.first.ID, nil); notFound(t, err) }},
		{"latest of a thread", deleteThread, func(t *testing.T, s *scene) {
			_, err := s.l.Latest(ctx, ledger.LatestQuery{Thread: "t"})
			notFound(t, err)
		}},
		{"latest", deleteLast, func(t *testing.T, s *scene) {
			if c, err := s.l.Latest(ctx, ledger.LatestQuery{Thread: "t"}); err != nil || c.ID != s.first.ID {
				t.Errorf("the latest is %+v, %v; want the first", c, err)
			}
		}},
		{"inbox", deleteLast, func(t *testing.T, s *scene) {
			for g, err := range s.l.Gates(ctx, ledger.GateQuery{}) {
				t.Errorf("the inbox has %v, %v", g, err)
			}
		}},
		{"list", deleteLast, func(t *testing.T, s *scene) {
			n := 0
			for c, err := range s.l.ListStates(ctx, posthouse.Query{Descending: true}) {
				if n++; err != nil || c.ID != s.first.ID {
					t.Errorf("listed %v, %v", c, err)
				}
			}
			if n != 1 {
				t.Errorf("%d listed, want the first only", n)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := memstore.New()
			s := &scene{store: &meddled{Store: inner}}
			s.l = must.Get(ledger.Open(s.store, nil))(t)
			s.other = must.Get(ledger.Open(inner, nil))(t)
			s.first = must.Get(s.other.Save(ctx, posthouse.Root("t", opaque(t, "first")), nil))(t)
			s.last = must.Get(s.other.Commit(ctx, &ledger.Draft{
				Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, State: opaque(t, "last")}, Gates: []posthouse.Gate{{Name: "ok?"}},
			}))(t)
			s.store.before = func() {
				if err := c.meddle(s); err != nil {
					t.Fatal(err)
				}
			}
			c.read(t, s)
		})
	}
}

// TestUnknownOutcomeOfAClaimIsGivenBack loses the answer to the commit that put
// a claim on record: giving the claim back frees the thread for others.
func TestUnknownOutcomeOfAClaimIsGivenBack(t *testing.T) {
	ctx, s := context.Background(), &answerless{Store: memstore.New()}
	l := must.Get(ledger.Open(s, nil))(t)
	c := must.Get(l.Claim(ctx, "t", "run"))(t)
	s.lose = 4
	_, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	if !errors.Is(err, posthouse.ErrUnknown) {
		t.Fatalf("the commit: %v, want ErrUnknown", err)
	}
	if info := must.Get(l.Thread(ctx, "t"))(t); !info.Lease.Held {
		t.Fatal("the claim is not on record: the test proves nothing")
	}
	if err := c.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if info := must.Get(l.Thread(ctx, "t"))(t); info.Lease.Held {
		t.Errorf("the lease is still held: %+v", info.Lease)
	}
	other := must.Get(ledger.Open(s, nil))(t)
	must.Get(other.Claim(ctx, "t", "another"))(t)
}

// An answerless store appends and loses the answer, as often as lose says.
type answerless struct {
	posthouse.Store
	lose int
}

func (s *answerless) Append(ctx context.Context, b *posthouse.Batch) error {
	err := s.Store.Append(ctx, b)
	if err == nil && s.lose > 0 {
		s.lose--
		return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the connection was lost"}
	}
	return err
}

// TestObserversGetCopies changes what an observer was told: the caller's answer
// is its own.
func TestObserversGetCopies(t *testing.T) {
	ctx := context.Background()
	l := open(t, &ledger.Options{Observer: func(e posthouse.Operation) {
		e.Header.Labels["k"], e.Header.Next[0] = "changed", "changed"
	}})
	c := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Next: []string{"n"}, Labels: map[string]string{"k": "v"},
	}}))(t)
	if c.Checkpoint.Labels["k"] != "v" || c.Checkpoint.Next[0] != "n" {
		t.Errorf("the caller's header is %+v", c.Checkpoint)
	}
}
