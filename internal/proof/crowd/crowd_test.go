package crowd_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/crowd"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestCrowd: there are as many threads, checkpoints and branches as were asked for, and questions to answer.
func TestCrowd(t *testing.T) {
	l := must.Get(ledger.Open(memstore.New(), nil))(t)
	defer l.Close()
	must.Do(t, crowd.Threads(t.Context(), l, 1000))
	must.Do(t, crowd.Long(t.Context(), l, "long", 500, 40))
	status := map[posthouse.Status]int{}
	for in, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		status[in.Status]++
	}
	gates := 0
	for _, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		gates++
	}
	long := must.Get(l.Thread(t.Context(), "long"))(t)
	if status[posthouse.StatusDone] != 600 || status[posthouse.StatusWaiting] != 100 || gates != 100 || len(long.Branches) != 41 || long.Checkpoints != 500 {
		t.Errorf("the threads are %v with %d questions, and the long one has %d branches and %d checkpoints", status, gates, len(long.Branches), long.Checkpoints)
	}
}
