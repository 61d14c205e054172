package s3store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestStoresThatRace has several stores append to the same threads and bring the same ids.
// At each position one wins, each id is in one place, and all see the same.
func TestStoresThatRace(t *testing.T) {
	const stores, rounds = 4, 40
	server := s3test.New(t)
	all := make([]*s3store.Store, stores)
	for i := range all {
		all[i] = open(t, server, s3store.Options{})
	}
	builder := storetest.NewBuilder()
	shared := builder.Log("shared")
	for round := range rounds {
		id, order := builder.ID()
		won := make([]error, stores)
		brought := make([]error, stores)
		var wg sync.WaitGroup
		for i, s := range all {
			b := shared.Next(shared.Checkpoint(posthouse.Header{}, fmt.Sprint("by ", i)))
			own := builder.Log(fmt.Sprintf("own-%d-%d", round, i))
			bs := own.Next(own.Checkpoint(posthouse.Header{ID: id, Order: order}, "x"))
			wg.Go(func() { won[i] = s.Append(t.Context(), b) })
			wg.Go(func() { brought[i] = s.Append(t.Context(), bs) })
		}
		wg.Wait()
		wantOne(t, "position", won, posthouse.ErrConflict)
		wantOne(t, "id", brought, posthouse.ErrExists)
		ref, err := all[0].Find(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range all {
			if got, err := s.Find(t.Context(), id); err != nil || got != ref {
				t.Errorf("store %d: %v, %v, want %v", i, got, err, ref)
			}
		}
		for info, err := range all[round%stores].Threads(t.Context(), posthouse.ThreadQuery{Thread: "shared"}) {
			if err != nil || info.Tail.Seq != uint64(round+1) {
				t.Fatalf("the tail is %v, %v", info.Tail, err)
			}
			shared = builder.Resume(info)
		}
	}
	servertest.WantSound(t, all[0], "shared", rounds)
	servertest.WantSound(t, open(t, server, s3store.Options{}), "shared", rounds)
}

func wantOne(t testing.TB, what string, errs []error, loser error) {
	t.Helper()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		} else if !errors.Is(err, loser) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n != 1 {
		t.Errorf("%s: %d won", what, n)
	}
}
