package holders_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/holders"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// hold begins a thread, under a claim of it if there is one.
func hold(t *testing.T, l *ledger.Ledger, thread string, claim *ledger.Claim) {
	t.Helper()
	must.Get(l.Commit(context.Background(), &ledger.Draft{Thread: thread, Claim: claim, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "shop", Next: []string{"pay"}}}))(t)
}

func TestProcessesAndTheirThreads(t *testing.T) {
	store := memstore.New()
	open := func(owner string) *ledger.Ledger {
		l := must.Get(ledger.Open(store, &ledger.Options{Owner: owner}))(t)
		t.Cleanup(func() { must.Do(t, l.Close()) })
		return l
	}
	a, b := open("host-a"), open("host-b")
	for i := range 25 {
		thread := fmt.Sprint("t", i)
		hold(t, a, thread, must.Get(a.Claim(t.Context(), thread, ""))(t))
	}
	hold(t, b, "u", must.Get(b.Claim(t.Context(), "u", ""))(t))
	hold(t, b, "free", nil)
	r := must.Get(holders.List(t.Context(), b, 0))(t)
	if len(r.Processes) != 2 || r.Processes[0].Process != "host-a" || r.Processes[0].Threads != 25 || len(r.Processes[0].Some) != 20 || r.Processes[1].Threads != 1 || r.Free != 1 || r.More {
		t.Errorf("the processes are %+v, free %d, more %t", r.Processes, r.Free, r.More)
	}
	if h := r.Processes[1].Some[0]; h.Thread != "u" || h.Program != "shop" || h.Fence == 0 || r.Processes[1].Silent {
		t.Errorf("host-b holds %+v", h)
	}
	if r := must.Get(holders.List(t.Context(), b, 10))(t); !r.More || r.Looked != 10 {
		t.Errorf("of ten: %+v", r)
	}
	if _, err := holders.List(t.Context(), b, -1); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a negative limit: %v", err)
	}
}
