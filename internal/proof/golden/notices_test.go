package golden_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/substitutes"
	"github.com/posthouse/posthouse/transfer"
)

const noticesEnv = "POSTHOUSE_GOLDEN_NOTICES"

// noticeNames are the stores that have the records of format 4: reminders, questions that people set
// aside, substitutes.
var noticeNames = []string{"notices", "notices-sealed"}

// ownThreads reports whether the store has other threads than the first golden stores: what a later
// format added.
func (g goldenStore) ownThreads() bool {
	return slices.Contains(slices.Concat(noticeNames, takenNames), filepath.Base(string(g)))
}

// TestWriteNotices writes the golden stores of format 4 into the directory that the environment
// names, see testdata/README.md.
func TestWriteNotices(t *testing.T) {
	if dir := os.Getenv(noticesEnv); dir != "" {
		writeStores(t, dir, noticeNames, notices)
	}
}

// writeStores makes the directory with a store of each name and its answers. Each is signed, and
// those named so are encrypted, too.
func writeStores(t *testing.T, dir string, names []string, fill func(*testing.T, *ledger.Ledger, *clock)) {
	t.Helper()
	must.Do(t, os.Mkdir(dir, 0o755)) // existing files are never rewritten
	for _, name := range names {
		g := goldenStore(filepath.Join(dir, name))
		c := &clock{at: time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)}
		o := &ledger.Options{Now: c.now, Validate: gate.Validator(), Owner: "golden", Signer: testKey(t), LeaseTTL: time.Hour}
		if g.sealed() {
			o.Cipher = must.Get(crypt.NewKeyring(map[string][]byte{"test-new": []byte("TEST KEY ONLY, golden, a second!")}, "test-new"))(t)
		}
		store := must.Get(sqlitestore.Open(t.Context(), string(g)+".db", nil))(t)
		l := must.Get(ledger.Open(store, o))(t)
		fill(t, l, c)
		file := must.Get(os.Create(string(g) + ".json.gz"))(t)
		z := gzip.NewWriter(file)
		must.Do(t, json.NewEncoder(z).Encode(must.Get(ask(t.Context(), l, g.ring(t)))(t)))
		must.Do(t, errors.Join(z.Close(), file.Close(), l.Close(), store.Close(), os.Remove(string(g)+".db.lock")))
	}
}

// notices asks people, reminds them, and has them set questions aside and name substitutes.
func notices(t *testing.T, l *ledger.Ledger, c *clock) {
	t.Helper()
	ctx := t.Context()
	ask := func(thread string, q posthouse.Gate) posthouse.ID {
		done := must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{q}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"pay"}, State: posthouse.State{"n": {Codec: "json", Data: []byte("1")}},
		}}))(t)
		return done.Gates[0].ID
	}
	remind := func(id posthouse.ID) { must.Get(commit.Remind(ctx, l.Core(), id))(t) }
	after := func(d time.Duration) time.Time { return c.at.Add(d).Truncate(time.Second) }
	end := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)

	ask("to-come", posthouse.Gate{Name: "pay", Text: "Pay?", Assignees: []string{"alice"}, ExpiresAt: end, Remind: []time.Time{end.Add(-time.Hour)}})
	twice := ask("reminded", posthouse.Gate{Name: "pay", Text: "Pay?", Assignees: []string{"alice", "bob"}, ExpiresAt: end, Remind: []time.Time{after(time.Hour), after(2 * time.Hour), end.Add(-time.Hour)}})
	aside := ask("aside", posthouse.Gate{Name: "pay", Assignees: []string{"alice"}, ExpiresAt: end, Remind: []time.Time{end.Add(-time.Hour)}})
	back := ask("back", posthouse.Gate{Name: "pay", Assignees: []string{"alice"}})
	over := ask("over", posthouse.Gate{Name: "pay", Assignees: []string{"alice", "bob"}, Remind: []time.Time{after(time.Hour)}})
	c.forward(90 * time.Minute)
	remind(twice)
	remind(over)
	c.forward(time.Hour)
	remind(twice)
	must.Get(inbox.Hide(ctx, l, aside, inbox.Snooze{By: "alice", Reason: "waits for the invoice"}))(t)
	must.Get(inbox.Hide(ctx, l, back, inbox.Snooze{By: "alice", Actor: "olga", Until: end}))(t)
	must.Get(inbox.Show(ctx, l, back, inbox.Snooze{By: "alice"}))(t)
	must.Get(inbox.Hide(ctx, l, over, inbox.Snooze{By: "bob", Until: end}))(t)
	must.Get(l.Delegate(ctx, twice, posthouse.Delegation{By: "alice", To: "carol"}))(t)

	must.Get(substitutes.Name(ctx, l, deciders.Substitution{By: "alice", To: "dora", Until: end.AddDate(0, 0, -1), Reason: "on leave"}))(t)
	gone := must.Get(substitutes.Name(ctx, l, deciders.Substitution{By: "bob", To: "erik", From: after(24 * time.Hour), Until: end.AddDate(0, 0, -1)}))(t)
	must.Do(t, substitutes.Withdraw(ctx, l, gone.ID, substitutes.Withdrawal{By: "bob", Reason: "is back"}))
	must.Get(l.Decide(ctx, over, posthouse.Decision{Verdict: posthouse.Approve, By: "dora"}))(t)
}

// storesNamed are the golden stores of these names, of every version that wrote them.
func storesNamed(t *testing.T, names []string) (all []goldenStore) {
	t.Helper()
	for _, name := range names {
		paths := must.Get(filepath.Glob("testdata/*/" + name + ".db"))(t)
		if len(paths) == 0 {
			t.Fatalf("no golden store is named %s", name)
		}
		for _, p := range paths {
			all = append(all, goldenStore(p[:len(p)-len(".db")]))
		}
	}
	return all
}

// TestNoticesStay asks the stores of format 4 everything, on SQLite and copied into memory, and does
// with them what people would do next.
func TestNoticesStay(t *testing.T) {
	for _, g := range storesNamed(t, noticeNames) {
		for name, open := range map[string]func(*testing.T) posthouse.Store{"sqlite": g.sqlite, "memory": g.memory} {
			t.Run(g.name()+"/"+name, func(t *testing.T) {
				ctx := t.Context()
				store := open(t)
				l, _ := g.ledger(t, store)
				compare(t, g.answers(t), must.Get(ask(ctx, l, g.ring(t)))(t))

				active := must.Get(substitutes.Active(ctx, l))(t)
				if len(active) != 1 || active[0].By != "alice" || active[0].To != "dora" {
					t.Errorf("the substitutes are %+v", active)
				}
				sees := func(who string, snoozed inbox.Snoozed, want ...string) {
					t.Helper()
					page := must.Get(inbox.List(ctx, l, &inbox.Query{Assignee: who, Snoozed: snoozed}))(t)
					var have []string
					for _, item := range page.Items {
						have = append(have, item.Gate.Thread)
					}
					slices.Sort(have)
					if !slices.Equal(have, want) {
						t.Errorf("the inbox of %s has %v, want %v", who, have, want)
					}
				}
				sees("alice", inbox.SnoozedOnly, "aside")
				sees("alice", inbox.SnoozedHidden, "back", "to-come")
				sees("dora", inbox.SnoozedHidden, "aside", "back", "to-come")
				sees("carol", inbox.SnoozedHidden, "reminded")
				info := must.Get(l.Thread(ctx, "reminded"))(t)
				if len(info.Waiting) != 1 || !info.Waiting[0].RemindAt.Equal(time.Date(2027, 5, 31, 23, 0, 0, 0, time.UTC)) {
					t.Errorf("the next reminder is in %+v", info.Waiting)
				}
				aside := must.Get(l.Thread(ctx, "aside"))(t).Waiting[0].ID
				g2 := must.Get(l.Decide(ctx, aside, posthouse.Decision{Verdict: posthouse.Approve, By: "dora"}))(t)
				if g2.Decision.For != "alice" {
					t.Errorf("the substitute decided %+v", g2.Decision)
				}
				report := must.Get(sign.Verify(ctx, store, g.ring(t), &sign.VerifyOptions{RequireSigned: true}))(t)
				if !report.OK() {
					t.Errorf("what went on does not verify: %+v", report)
				}
				again := memstore.New()
				must.Get(transfer.CopyStore(ctx, store, again, nil))(t)
			})
		}
	}
}
