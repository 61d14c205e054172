package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func waits(*posthouse.Error) error { return nil }

// Places are served in order, one that is first before all others; who leaves
// is passed over.
func TestWaitQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ledger.Open(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		held, err := l.Claim(t.Context(), "t", "first")
		if err != nil {
			t.Fatal(err)
		}
		var served []string
		var all sync.WaitGroup
		gone, cancel := context.WithCancel(t.Context())
		for _, name := range []string{"a", "gone", "left", "b", "!c"} {
			p := l.Core().NewTicket("t", name[0] == '!')
			if name == "left" {
				p.Leave()
				p.Leave()
				continue
			}
			ctx := t.Context()
			if name == "gone" {
				ctx = gone
			}
			all.Go(func() {
				c, err := p.Claim(ctx, name, waits)
				if err != nil {
					served = append(served, fmt.Sprint(name, ": ", err))
					return
				}
				served = append(served, name)
				if err := c.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if got := fmt.Sprint(served); got != "[gone: context canceled !c a b]" {
			t.Error(got)
		}
		if c, err := l.Claim(t.Context(), "t", "last"); err != nil || c == nil {
			t.Error(err)
		}
	})
}

// Who is asked about a holder may give up; the next one is asked then.
func TestLineGivesUp(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Claim(t.Context(), "t", "first"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := l.Core().NewTicket("t", false).Claim(t.Context(), "other", func(e *posthouse.Error) error { return e })
		var e *posthouse.Error
		if !errors.Is(err, posthouse.ErrBusy) || !errors.As(err, &e) || e.Lease.Run != "first" {
			t.Error(err)
		}
	}
}

// However a run gives its thread back, the next in line gets it.
func TestWaitQueueAfterARelease(t *testing.T) {
	release := &ledger.ReleaseOptions{By: "a"}
	for name, end := range map[string]func(*ledger.Ledger, *ledger.Claim) error{
		"by a commit": func(l *ledger.Ledger, c *ledger.Claim) error {
			_, err := l.Commit(t.Context(), &ledger.Draft{
				Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}, Release: release,
			})
			return err
		},
		"by itself": func(l *ledger.Ledger, c *ledger.Claim) error {
			own := *release
			own.Claim = c
			_, err := l.Release(t.Context(), "t", &own)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := must.Get(ledger.Open(memstore.New(), nil))(t)
				defer l.Close()
				c := must.Get(l.Claim(t.Context(), "t", "first"))(t)
				must.Get(l.Commit(t.Context(), &ledger.Draft{
					Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}},
				}))(t)
				next := make(chan error, 1)
				go func() {
					_, err := l.Core().NewTicket("t", false).Claim(context.Background(), "next", waits)
					next <- err
				}()
				synctest.Wait()
				if err := end(l, c); err != nil {
					t.Fatal(err)
				}
				if err := c.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case err := <-next:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Fatal("the next in line waits on")
				}
			})
		})
	}
}
