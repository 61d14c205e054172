package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
)

// benchLedger opens a Ledger over an empty store.
func (h Harness) benchLedger(b *testing.B) *posthouse.Ledger {
	b.Helper()
	s, _ := h.benchStore(b, 0)
	l, err := posthouse.Open(s, &posthouse.Options{Cipher: h.Cipher})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func waits(thread string, gates ...posthouse.Gate) *posthouse.Draft {
	return &posthouse.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"},
		Parts: []posthouse.Part{{Name: posthouse.OpaquePart, Codec: "raw", Data: []byte("x")}},
	}, Gates: gates}
}

// benchInbox reads pages while n threads wait: for nobody in particular, but
// for one in fifty, which wait for bob.
func (h Harness) benchInbox(b *testing.B, n int) {
	l := h.benchLedger(b)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := g; i < n; i += 64 {
				gate := posthouse.Gate{Name: "ok?", Text: "Pay the order?", Assignees: []string{"alice"}}
				if i%50 == 0 {
					gate.Assignees = []string{"bob"}
				}
				if _, err := l.Commit(b.Context(), waits(fmt.Sprint("t", i), gate)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, q := range []posthouse.GateQuery{{Newest: true}, {Assignee: "alice"}, {Assignee: "bob", Newest: true}} {
		q.Limit = 50
		b.Run(fmt.Sprintf("assignee=%s", q.Assignee), func(b *testing.B) {
			for b.Loop() {
				found := 0
				for _, err := range l.Gates(b.Context(), q) {
					if err != nil {
						b.Fatal(err)
					}
					found++
				}
				if found == 0 {
					b.Fatal("nothing waits")
				}
			}
		})
	}
}

// benchDecide decides one of n gates that a checkpoint asks.
func (h Harness) benchDecide(b *testing.B, n int) {
	l := h.benchLedger(b)
	var open []posthouse.ID
	round := 0
	for b.Loop() {
		if len(open) == 0 {
			b.StopTimer()
			for range max(1, 1000/n) {
				gates := make([]posthouse.Gate, n)
				for i := range gates {
					gates[i] = posthouse.Gate{Name: fmt.Sprint("ok", i), Text: "Pay the order?", Assignees: []string{"alice"}}
				}
				round++
				done, err := l.Commit(b.Context(), waits(fmt.Sprint("t", round), gates...))
				if err != nil {
					b.Fatal(err)
				}
				for _, g := range done.Gates {
					open = append(open, g.ID)
				}
			}
			b.StartTimer()
		}
		if _, err := l.Decide(b.Context(), open[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			b.Fatal(err)
		}
		open = open[1:]
	}
}
