package sign_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// asks opens a question in thread t, and returns it.
func asks(t *testing.T, l *ledger.Ledger, name string) *posthouse.Gate {
	t.Helper()
	done := must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Gates: []posthouse.Gate{{Name: name, Quorum: &posthouse.Quorum{Need: 2}, Assignees: []string{"ann", "the-cfo", "the-ceo"}}}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "pay", Next: []string{"pay"},
		},
	}))(t)
	return &done.Gates[0]
}

// An entry that somebody without the key adds to a signed thread is found, also after the server has signed a
// later one: a signature counts for an entry that decides only if it is that entry's own. The same by a server
// that has the key is clean.
func TestNoSignatureOfLaterCountsForADecision(t *testing.T) {
	decide := func(by ...string) func(context.Context, *ledger.Ledger, *posthouse.Gate) error {
		return func(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) error {
			for _, by := range by {
				if _, err := l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, forge := range map[string]func(context.Context, *ledger.Ledger, *posthouse.Gate) error{
		"a decision": decide("the-cfo", "the-ceo"),
		"a vote":     decide("the-cfo"),
		"an assignment": func(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) error {
			_, err := l.Delegate(ctx, g.ID, posthouse.Delegation{By: "ann", To: "dora"})
			return err
		},
		"a release": func(ctx context.Context, l *ledger.Ledger, _ *posthouse.Gate) error {
			_, err := l.Release(ctx, "t", &ledger.ReleaseOptions{By: "the-cfo"})
			return err
		},
		"a question": func(ctx context.Context, l *ledger.Ledger, _ *posthouse.Gate) error {
			asks(t, l, "and this?")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, forged := range []bool{false, true} {
				ctx, key, store := t.Context(), newKey(t), memstore.New()
				server := openLedger(t, store, key, nil)
				g := asks(t, server, "pay?")
				writer := server
				if forged {
					writer = openLedger(t, store, nil, nil)
				}
				before := must.Get(server.Thread(ctx, "t"))(t).Tail.Seq
				if err := forge(ctx, writer, g); err != nil {
					t.Fatal(err)
				}
				server = openLedger(t, store, key, nil)
				must.Get(server.Signal(ctx, "t", posthouse.Signal{Name: "later", Early: true}))(t)
				asks(t, server, "signed after it")
				r := verify(t, store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true})
				if !forged {
					wantClean(t, r)
					continue
				}
				wantFault(t, r, sign.FaultUnsigned, "t", before+1)
			}
		})
	}
}

// A thread that began without a key is as it was: what a later signature covers counts.
func TestThreadFromBeforeTheKey(t *testing.T) {
	ctx, key, store := t.Context(), newKey(t), memstore.New()
	without := openLedger(t, store, nil, nil)
	g := asks(t, without, "pay?")
	for _, by := range []string{"ann", "the-ceo"} {
		must.Get(without.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by}))(t)
	}
	asks(t, openLedger(t, store, key, nil), "signed after it")
	wantClean(t, verify(t, store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true}))
}
