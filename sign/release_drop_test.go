package sign_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestDroppedReleasesThatReferBack drops versions. Their release entry stays and refers to
// entries that went: it decided a question, took a signal, acted under a grant.
func TestDroppedReleasesThatReferBack(t *testing.T) {
	ask := func(t *testing.T, l *ledger.Ledger, g posthouse.Gate) posthouse.ID {
		done := must.Get(l.Commit(t.Context(), &ledger.Draft{
			Thread: "t", Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		}))(t)
		return done.Gates[0].ID
	}
	end := func(t *testing.T, l *ledger.Ledger, d ledger.Draft) {
		d.Thread, d.Release = "t", &ledger.ReleaseOptions{}
		d.Checkpoint = &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone, Node: "n"}
		must.Get(l.Commit(t.Context(), &d))(t)
	}
	for name, release := range map[string]func(t *testing.T, l *ledger.Ledger){
		"open question": func(t *testing.T, l *ledger.Ledger) {
			ask(t, l, posthouse.Gate{Name: "ok?"})
			must.Get(l.Release(t.Context(), "t", nil))(t)
		},
		"open question that a commit leaves": func(t *testing.T, l *ledger.Ledger) {
			ask(t, l, posthouse.Gate{Name: "ok?"})
			end(t, l, ledger.Draft{})
		},
		"question with a vote": func(t *testing.T, l *ledger.Ledger) {
			id := ask(t, l, posthouse.Gate{Name: "ok?", Quorum: &posthouse.Quorum{Need: 2}, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}})
			must.Get(l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
			must.Get(l.Release(t.Context(), "t", nil))(t)
		},
		"signal taken": func(t *testing.T, l *ledger.Ledger) {
			save(t, l, "t", "one")
			s := must.Get(l.Signal(t.Context(), "t", posthouse.Signal{Name: "go", By: "bob"}))(t)
			end(t, l, ledger.Draft{ConsumedSignals: []posthouse.Take{{Name: "go", Signal: s.Seq}}})
		},
		"effect under a grant": func(t *testing.T, l *ledger.Ledger) {
			id := ask(t, l, posthouse.Gate{Name: "pay?", Uses: 1, Task: "1/n"})
			must.Get(l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
			end(t, l, ledger.Draft{Steps: []posthouse.Step{{Task: "1/n", Name: "pay", Effect: posthouse.EffectExternal, Grant: id, Value: posthouse.Value{Data: []byte("1")}}}})
		},
	} {
		for kind, open := range map[string]func(t *testing.T) posthouse.Store{
			"memory": func(*testing.T) posthouse.Store { return memstore.New() },
			"sqlite": func(t *testing.T) posthouse.Store {
				s := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), nil))(t)
				t.Cleanup(func() { _ = s.Close() })
				return s
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				key := newKey(t)
				store := open(t)
				l := openLedger(t, store, key, newClock().Now)
				release(t, l)
				check := func(when string) {
					t.Helper()
					r := verify(t, store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true, RequireGrants: true})
					for _, f := range r.Faults {
						t.Errorf("%s: %v", when, f)
					}
				}
				check("released")
				save(t, l, "t", "next")
				must.Get(retain.DropRelease(t.Context(), l, "t", "1", nil))(t)
				check("dropped")
				must.Get(l.Release(t.Context(), "t", nil))(t)
				save(t, l, "t", "third")
				must.Get(retain.DropRelease(t.Context(), l, "t", "2", nil))(t)
				check("dropped with the version that recorded it")
			})
		}
	}
}
