package gate_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// unwatched is a store that cannot be watched.
type unwatched struct{ posthouse.Store }

// relayDesk returns a desk that records its approvals over s, and a ledger over
// the same store that knows nothing of the desk.
func relayDesk(t *testing.T, s posthouse.Store, change func(*gate.SessionOptions)) (*desk, *ledger.Ledger) {
	t.Helper()
	var ls [2]*ledger.Ledger
	for i := range ls {
		l, err := ledger.Open(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		ls[i] = l
	}
	return newDesk(t, func(o *gate.SessionOptions) {
		o.Ledger = ls[0]
		if change != nil {
			change(o)
		}
	}), ls[1]
}

// TestAnswersFromAnywhere gives the answer at the session, by another ledger,
// and where the store tells of nothing.
func TestAnswersFromAnywhere(t *testing.T) {
	for name, s := range map[string]func() posthouse.Store{
		"watched": func() posthouse.Store { return memstore.New() }, "polled": func() posthouse.Store { return unwatched{memstore.New()} },
	} {
		for _, here := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					told := 0
					d, elsewhere := relayDesk(t, s(), func(o *gate.SessionOptions) { o.Decided = func(*posthouse.Gate) { told++ } })
					relay := gate.Relay{Ledger: elsewhere}
					var people sync.WaitGroup
					defer people.Wait()
					people.Go(func() {
						g := <-d.asked
						decide := func(v posthouse.Verdict) (*posthouse.Gate, error) {
							if here {
								return d.session.Decide(g.ID, posthouse.Decision{Verdict: v, By: "bob"})
							}
							return relay.Answer(t.Context(), gate.Message{ID: g.ID, Verdict: v}, "bob", "")
						}
						first, err := decide(posthouse.Approve)
						if err != nil || first.Decision.Verdict != posthouse.Approve {
							t.Errorf("first %+v, error %v", first, err)
						}
						if _, err := decide(posthouse.Reject); !errors.Is(err, posthouse.ErrNotFound) {
							t.Errorf("twice: %v", err)
						}
					})
					if got, err := d.call(t.Context()); got != "paid 1234" || err != nil {
						t.Fatalf("got %q, %v", got, err)
					}
					if told != 1 {
						t.Errorf("told %d times", told)
					}
				})
			})
		}
	}
}

// A breaking store's first watch breaks off at once.
type breaking struct {
	*memstore.Store
	watches, finds atomic.Int32
}

func (s *breaking) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	if s.watches.Add(1) > 1 {
		return s.Store.Watch(ctx, cursor)
	}
	return func(yield func(*posthouse.Entry, error) bool) { yield(nil, posthouse.ErrLocked) }
}

func (s *breaking) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	s.finds.Add(1)
	return s.Store.Find(ctx, id)
}

// TestRelayWatchesAgain: after its watch broke off a session begins another, and
// hears an answer at once, or one that came in between.
func TestRelayWatchesAgain(t *testing.T) {
	for name, after := range map[string]time.Duration{"watching again": 30 * time.Second, "in between": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &breaking{Store: memstore.New()}
				d, elsewhere := relayDesk(t, s, nil)
				var answered time.Time
				go func() {
					g := <-d.asked
					before := s.finds.Load()
					time.Sleep(after)
					if n := s.finds.Load() - before; n > 1 {
						t.Errorf("it looked for the answer %d times in %s", n, after)
					}
					answered = time.Now()
					_, err := gate.Relay{Ledger: elsewhere}.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
					if err != nil {
						t.Error(err)
					}
				}()
				if got, err := d.call(t.Context()); got != "paid 1234" || err != nil {
					t.Fatalf("got %q, %v", got, err)
				}
				if late := time.Since(answered); late > time.Second || after > time.Second && late > 0 {
					t.Errorf("it heard of the answer after %s", late)
				}
				if n := s.watches.Load(); n != 2 {
					t.Errorf("it watched %d times, want 2", n)
				}
			})
		})
	}
}

// TestRelayedApprovalEndsWithItsCall: an approval without an answer is closed on
// record, and an answer afterwards counts nowhere.
func TestRelayedApprovalEndsWithItsCall(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*desk)
		want error
	}{
		"in time": {nil, posthouse.ErrExpired},
		"closed":  {func(d *desk) { d.session.Close() }, posthouse.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, elsewhere := relayDesk(t, memstore.New(), nil)
				asked := make(chan posthouse.ID, 1)
				go func() {
					g := <-d.asked
					if tc.end != nil {
						tc.end(d)
					}
					asked <- g.ID
				}()
				if got, err := d.call(t.Context()); !errors.Is(err, tc.want) || d.ran.Load() != 0 {
					t.Fatalf("got %q, %v", got, err)
				}
				id := <-asked
				_, err := gate.Relay{Ledger: elsewhere}.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
				if !errors.Is(err, posthouse.ErrNotFound) {
					t.Errorf("answered afterwards: %v", err)
				}
				g, err := elsewhere.Gate(t.Context(), id)
				if err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
					t.Errorf("on record is %+v, %v", g, err)
				}
				for open, err := range elsewhere.Gates(t.Context(), ledger.GateQuery{All: true}) {
					t.Errorf("still open: %+v, %v", open, err)
				}
			})
		})
	}
}

// TestFirstOnRecordWins: an answer that another process recorded, and that the
// session had not heard of when its connection closed, counts.
func TestFirstOnRecordWins(t *testing.T) {
	for verdict, ran := range map[posthouse.Verdict]int32{posthouse.Approve: 1, posthouse.Reject: 0} {
		d, elsewhere := relayDesk(t, unwatched{memstore.New()}, nil)
		go func() {
			g := <-d.asked
			_, err := gate.Relay{Ledger: elsewhere}.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: verdict, By: "bob"})
			if err != nil {
				t.Error(err)
			}
			d.session.Close()
		}()
		_, err := d.call(t.Context())
		if d.ran.Load() != ran || (err == nil) != (ran == 1) {
			t.Errorf("%s: ran %d times, %v", verdict, d.ran.Load(), err)
		}
	}
}

// TestRelayFailsClosed: without a record the tool does not run, and a crashed
// session's approval expires by itself.
func TestRelayFailsClosed(t *testing.T) {
	d, elsewhere := relayDesk(t, memstore.New(), nil)
	o := gate.SessionOptions{By: "alice", Announce: func(*posthouse.Gate) error { t.Error("announced"); return nil }, Ledger: elsewhere}
	if err := elsewhere.Close(); err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Store().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pay(gate.NewSession(&o).With(t.Context()), payment{}); !errors.Is(err, posthouse.ErrClosed) || d.ran.Load() != 0 {
		t.Errorf("%v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		d, l := relayDesk(t, s, nil)
		go func() { _, _ = d.call(t.Context()) }() // what becomes of it does not matter
		g := <-d.asked
		on, err := l.Gate(t.Context(), g.ID)
		if err != nil || time.Until(on.ExpiresAt) > gate.DefaultTimeout {
			t.Errorf("on record: %+v, %v", on, err)
		}
		d.session.Close()
	})
}

// A dying store takes nothing more once its process is gone.
type dying struct {
	posthouse.Store
	gone atomic.Bool
}

func (s *dying) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.gone.Load() {
		return posthouse.ErrClosed
	}
	return s.Store.Append(ctx, b)
}

// TestApprovalOfTheDead: nothing is left to do for an approval of a dead process
// once it was answered, or its deadline has passed.
func TestApprovalOfTheDead(t *testing.T) {
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &dying{Store: memstore.New()}
			d, _ := relayDesk(t, s, nil)
			elsewhere, err := ledger.Open(s.Store, nil)
			if err != nil {
				t.Fatal(err)
			}
			asked := make(chan posthouse.ID, 1)
			go func() {
				g := <-d.asked
				s.gone.Store(true)
				d.session.Close()
				asked <- g.ID
			}()
			if got, err := d.call(t.Context()); err == nil {
				t.Fatalf("it did %q", got)
			}
			id := <-asked
			if answered {
				_, err = gate.Relay{Ledger: elsewhere}.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
			} else {
				time.Sleep(gate.DefaultTimeout)
				_, err = commit.Expire(t.Context(), elsewhere.Core(), id) // as a runner does
			}
			if err != nil {
				t.Fatal(err)
			}
			if th, err := elsewhere.Thread(t.Context(), string(id)); err != nil || th.Status != posthouse.StatusDone || th.Runnable() {
				t.Errorf("answered %t: %+v, %v", answered, th, err)
			}
		})
	}
}
