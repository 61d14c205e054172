package golden_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

const takenEnv = "POSTHOUSE_GOLDEN_TAKEN"

// takenNames are the stores that have the records of format 5: delegations that were taken back.
var takenNames = []string{"taken", "taken-sealed"}

// TestWriteTaken writes the golden stores of format 5 into the directory that the environment names,
// see testdata/README.md.
func TestWriteTaken(t *testing.T) {
	if dir := os.Getenv(takenEnv); dir != "" {
		writeStores(t, dir, takenNames, taken)
	}
}

// taken hands questions on and takes them back: before anything was done with them, from the middle
// of a row of hands, twice, before a vote, before a decision, and after an escalation.
func taken(t *testing.T, l *ledger.Ledger, c *clock) {
	t.Helper()
	ctx := t.Context()
	ask := func(thread string, q posthouse.Gate) posthouse.ID {
		q.Name, q.Text, q.ExpiresAt = "pay", "Pay?", time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
		done := must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{q}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"pay"}, State: posthouse.State{"n": {Codec: "json", Data: []byte("1")}},
		}}))(t)
		return done.Gates[0].ID
	}
	hand := func(id posthouse.ID, by, to string) {
		must.Get(l.Delegate(ctx, id, posthouse.Delegation{By: by, To: to}))(t)
	}
	back := func(id posthouse.ID, d posthouse.Delegation) { must.Get(l.TakeBack(ctx, id, d))(t) }
	decide := func(id posthouse.ID, by string) {
		must.Get(l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: by}))(t)
	}
	alice, pair := []string{"alice"}, []string{"alice", "bob"}

	typo := ask("typo", posthouse.Gate{Assignees: alice, RequestedBy: "zoe"})
	hand(typo, "alice", "nobody-xyz")
	back(typo, posthouse.Delegation{By: "alice", Actor: "olga", Reason: "a typo"})

	onward := ask("onward", posthouse.Gate{Assignees: alice})
	hand(onward, "alice", "carol")
	hand(onward, "carol", "dave")
	back(onward, posthouse.Delegation{By: "carol"})

	again := ask("again", posthouse.Gate{Assignees: alice})
	hand(again, "alice", "carol")
	back(again, posthouse.Delegation{By: "alice"})
	hand(again, "alice", "dora")

	voted := ask("voted", posthouse.Gate{Assignees: pair, Quorum: &posthouse.Quorum{Need: 2}})
	hand(voted, "alice", "carol")
	back(voted, posthouse.Delegation{By: "alice", To: "carol"})
	decide(voted, "alice")

	over := ask("over", posthouse.Gate{Assignees: alice})
	hand(over, "alice", "carol")
	back(over, posthouse.Delegation{By: "alice", Reason: "is back"})
	decide(over, "alice")

	late := ask("late", posthouse.Gate{Assignees: pair, Escalation: &posthouse.Escalation{At: c.at.Add(time.Hour).Truncate(time.Second), To: []string{"eve"}}})
	hand(late, "bob", "carol")
	c.forward(2 * time.Hour)
	must.Get(commit.Escalate(ctx, l.Core(), late))(t)
	back(late, posthouse.Delegation{By: "bob"})
}

// TestTakenStay asks the stores of format 5 everything, on SQLite and copied into memory, and does
// with them what people would do next.
func TestTakenStay(t *testing.T) {
	for _, g := range storesNamed(t, takenNames) {
		for name, open := range map[string]func(*testing.T) posthouse.Store{"sqlite": g.sqlite, "memory": g.memory} {
			t.Run(g.name()+"/"+name, func(t *testing.T) {
				ctx := t.Context()
				store := open(t)
				l, c := g.ledger(t, store)
				compare(t, g.answers(t), must.Get(ask(ctx, l, g.ring(t)))(t))

				for thread, want := range map[string]string{
					"typo": "alice< ", "onward": "carol<alice ", "again": "dora<alice ", "voted": "alice< bob< ", "late": "alice< bob< eve< ",
				} {
					have := ""
					for _, d := range deciders.Of(must.Get(l.Gate(ctx, waitOf(t, l, thread)))(t), c.now()) {
						have += d.Name + "<" + d.For + " "
					}
					if have != want {
						t.Errorf("the rights of %s are %s, want %s", thread, have, want)
					}
				}
				for who, want := range map[string][]string{
					"alice": {"late", "typo"}, "bob": {"late", "voted"}, "carol": {"onward"}, "dave": nil, "dora": {"again"}, "eve": {"late"}, "nobody-xyz": nil,
				} {
					var have []string
					for _, item := range must.Get(inbox.List(ctx, l, &inbox.Query{Assignee: who}))(t).Items {
						have = append(have, item.Gate.Thread)
					}
					if slices.Sort(have); !slices.Equal(have, want) {
						t.Errorf("the inbox of %s has %v, want %v", who, have, want)
					}
				}
				goOn(t, l)
				if report := must.Get(sign.Verify(ctx, store, g.ring(t), &sign.VerifyOptions{RequireSigned: true}))(t); !report.OK() {
					t.Errorf("what went on does not verify: %+v", report)
				}
				must.Get(transfer.CopyStore(ctx, store, memstore.New(), nil))(t)
			})
		}
	}
}

// goOn decides, hands on and takes back where the stores of format 5 end.
func goOn(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	yes := func(by string) posthouse.Decision { return posthouse.Decision{Verdict: posthouse.Approve, By: by} }
	if _, err := l.Decide(ctx, waitOf(t, l, "typo"), yes("nobody-xyz")); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("who had the right decides: %v", err)
	}
	must.Get(l.Decide(ctx, waitOf(t, l, "typo"), yes("alice")))(t)
	must.Get(l.TakeBack(ctx, waitOf(t, l, "onward"), posthouse.Delegation{By: "alice"}))(t)
	must.Get(l.Decide(ctx, waitOf(t, l, "onward"), yes("alice")))(t)
	must.Get(l.TakeBack(ctx, waitOf(t, l, "again"), posthouse.Delegation{By: "alice", To: "dora"}))(t)
	must.Get(l.Decide(ctx, waitOf(t, l, "voted"), yes("bob")))(t)
	must.Get(l.Delegate(ctx, waitOf(t, l, "late"), posthouse.Delegation{By: "bob", To: "carol"}))(t)
	must.Get(l.Decide(ctx, waitOf(t, l, "late"), yes("carol")))(t)
}

func waitOf(t *testing.T, l *ledger.Ledger, thread string) posthouse.ID {
	t.Helper()
	info := must.Get(l.Thread(t.Context(), thread))(t)
	if len(info.Waiting) != 1 {
		t.Fatalf("%s waits for %+v", thread, info.Waiting)
	}
	return info.Waiting[0].ID
}
