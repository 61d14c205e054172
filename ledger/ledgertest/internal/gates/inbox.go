package gates

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func inboxCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/the inbox of a person", Rule: "Whatever was delegated, voted, escalated and decided, recorded or only due, Gates with an assignee yields exactly those open gates that are open to them, in order and by pages.", Run: ledgerPersonsInbox},
		{Name: "ledger/a page of the inbox reads what it shows", Rule: "For a page of open gates the ledger asks the store for that many, however many more are open, for others or for no person; with a cipher it reads those of others.", Run: ledgerInboxReads},
	}
}

var inboxPeople = []string{"alice", "bob", "carol", "dave", "boss"}

// stir makes people act on open gates, which may be refused.
func stir(d *desk.Desk, rnd *rand.Rand, ids []posthouse.ID) {
	d.Helper()
	id, who := ids[rnd.IntN(len(ids))], inboxPeople[rnd.IntN(len(inboxPeople))]
	switch rnd.IntN(7) {
	case 0:
		_, _ = d.Decide(d.Ctx, id, yes(who))
	case 1, 2:
		_, _ = d.Delegate(d.Ctx, id, posthouse.Delegation{By: who, To: inboxPeople[rnd.IntN(len(inboxPeople))]})
	case 3:
		_, _ = commit.Escalate(d.Ctx, d.Ledger.Core(), id)
	case 4:
		d.Clock.Advance(time.Duration(rnd.IntN(20)) * time.Minute)
	case 5:
		_, _ = d.Decide(d.Ctx, id, no(who))
	case 6:
		_, _ = d.TakeBack(d.Ctx, id, posthouse.Delegation{By: who})
	}
}

func randomGate(d *desk.Desk, rnd *rand.Rand) posthouse.Gate {
	g := posthouse.Gate{Name: "ok?"}
	people := slices.Clone(inboxPeople)
	rnd.Shuffle(len(people), func(i, j int) { people[i], people[j] = people[j], people[i] })
	if n := rnd.IntN(4); n > 0 {
		g.Assignees = people[:n]
		if rnd.IntN(2) == 0 {
			g.Escalation = &posthouse.Escalation{At: d.Clock.Now().Add(time.Duration(1+rnd.IntN(90)) * time.Minute), To: []string{people[4]}, Replace: rnd.IntN(2) == 0}
		}
	}
	if len(g.Assignees) > 2 && (g.Escalation == nil || !g.Escalation.Replace) || len(g.Assignees) == 0 && rnd.IntN(2) == 0 {
		g.Quorum = &posthouse.Quorum{Need: 2}
	}
	if rnd.IntN(4) == 0 && g.Quorum == nil {
		g.RequestedBy = inboxPeople[rnd.IntN(len(inboxPeople))]
	}
	if rnd.IntN(6) == 0 && g.Quorum == nil {
		g.Kind = []string{"choice", posthouse.GateSession}[rnd.IntN(2)]
	}
	return g
}

func ledgerPersonsInbox(t *desk.T) {
	rnd := rand.New(rand.NewPCG(10, 3))
	d := t.Desk(ledger.Options{})
	var ids []posthouse.ID
	rounds := 120
	if t.Harness.Short {
		rounds = 40
	}
	for i := range rounds {
		var gates []posthouse.Gate
		for range 1 + rnd.IntN(3) {
			gates = append(gates, randomGate(d, rnd))
		}
		for _, g := range d.Ask(fmt.Sprint("t", i), gates...).Gates {
			ids = append(ids, g.ID)
		}
		for range 4 {
			stir(d, rnd, ids)
		}
		if i%10 != 9 {
			continue
		}
		for _, q := range []ledger.GateQuery{{}, {Newest: true}, {All: true}, {Kind: "choice"}, {Kind: posthouse.GateSession, Newest: true}, {Thread: fmt.Sprint("t", i-1)}} {
			all := inboxOf(d, q)
			for _, who := range inboxPeople {
				var want []posthouse.ID
				for _, g := range all {
					if deciders.OpenTo(g, who, d.Clock.Now()) {
						want = append(want, g.ID)
					}
				}
				q := q
				q.Assignee = who
				var got []posthouse.ID
				for q.Limit = 7; ; q.After = got[len(got)-1] {
					page := inboxOf(d, q)
					for _, g := range page {
						got = append(got, g.ID)
					}
					if len(page) < q.Limit {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("after %d threads, %+v: %v, want %v", i+1, q, got, want)
				}
			}
		}
	}
}

func inboxOf(d *desk.Desk, q ledger.GateQuery) (gates []*posthouse.Gate) {
	d.Helper()
	for g, err := range d.Gates(d.Ctx, q) {
		d.OK(err)
		gates = append(gates, g)
	}
	return gates
}

// A countingStore counts the calls of a store.
type countingStore struct {
	posthouse.Store
	entries, threads int
}

func (s *countingStore) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return counted(s.Store.Read(ctx, thread, r), &s.entries)
}

func (s *countingStore) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return counted(s.Store.Threads(ctx, q), &s.threads)
}

func counted[T any](seq iter.Seq2[T, error], n *int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			*n++
			if !yield(v, err) {
				return
			}
		}
	}
}

func ledgerInboxReads(t *desk.T) {
	s := &countingStore{Store: t.Store}
	d := t.DeskOn(s, ledger.Options{})
	later := &posthouse.Escalation{At: d.Clock.Now().Add(time.Hour), To: []string{"boss"}}
	for i := range 200 {
		g := posthouse.Gate{Name: "ok?", Assignees: []string{"alice"}, Escalation: later}
		switch {
		case i%40 == 0:
			g.Assignees = []string{"bob"}
		case i%3 == 0:
			g = posthouse.Gate{Name: "wake", Kind: posthouse.GateTimer, ExpiresAt: d.Clock.Now().Add(2 * time.Hour)}
		}
		d.Ask(fmt.Sprint("t", i), g)
	}
	sealed := t.Cipher != nil
	for _, c := range []struct {
		q    ledger.GateQuery
		want int
	}{
		{ledger.GateQuery{}, 4}, {ledger.GateQuery{Newest: true}, 4}, {ledger.GateQuery{Assignee: "alice"}, 4}, {ledger.GateQuery{Assignee: "bob"}, 4},
		{ledger.GateQuery{Assignee: "bob", Newest: true}, 4}, {ledger.GateQuery{Assignee: "boss"}, 0}, {ledger.GateQuery{Assignee: "nobody"}, 0},
		{ledger.GateQuery{Kind: "choice"}, 0}, {ledger.GateQuery{Kind: posthouse.GateTimer, Newest: true}, 4},
	} {
		c.q.Limit = 4
		s.entries, s.threads = 0, 0
		got := inboxOf(d, c.q)
		if len(got) != c.want {
			t.Errorf("%+v: %d gates, want %d", c.q, len(got), c.want)
		}
		if sealed && c.q.Assignee != "" {
			continue
		}
		if s.entries > c.q.Limit || s.threads > c.q.Limit {
			t.Errorf("%+v: read %d entries and %d summaries for %d gates", c.q, s.entries, s.threads, len(got))
		}
	}
}
