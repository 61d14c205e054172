package memindex

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type index = Index

func whole(e *Entry) (*posthouse.Entry, error) { return *Data[*posthouse.Entry](e), nil }

// filled returns an index with a thread of three checkpoints.
func filled(t *testing.T) *index {
	ix := New()
	l := storetest.NewBuilder().Log("t1")
	for range 3 {
		b := l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
		if fresh, err := ix.Admit([]*posthouse.Batch{b}); err != nil || len(fresh) != 1 {
			t.Fatalf("%d admitted, %v", len(fresh), err)
		}
		ix.Add(Take(b, b.Entry))
		l.Took(b)
	}
	return ix
}

func TestCheckNamesWhatDiffers(t *testing.T) {
	for name, spoil := range map[string]func(*index, *thread){
		"a flipped bit in a body":      func(_ *index, th *thread) { (*Data[*posthouse.Entry](th.entries[1])).Bodies[0][0] ^= 1 },
		"a flipped bit in a header":    func(_ *index, th *thread) { (*Data[*posthouse.Entry](th.entries[1])).Header[3] ^= 1 },
		"a missing entry":              func(_ *index, th *thread) { th.entries = slices.Delete(th.entries, 1, 2) },
		"a missing tail":               func(_ *index, th *thread) { th.entries = th.entries[:2] },
		"a summary that says too much": func(_ *index, th *thread) { th.info.Checkpoints++ },
		"an index that leads astray": func(ix *index, th *thread) {
			th.entries[1].IDs = append(th.entries[1].IDs, "x")
			ix.ids["x"] = place{th, 2, nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ix := filled(t)
			for err := range ix.Check(t.Context(), whole) {
				t.Errorf("before: %v", err)
			}
			spoil(ix, ix.threads["t1"])
			n := 0
			for err := range ix.Check(t.Context(), whole) {
				n++
				if !errors.Is(err, posthouse.ErrCorrupt) {
					t.Errorf("got %v, want code corrupt", err)
				}
			}
			if n == 0 {
				t.Error("nothing was found")
			}
			for range ix.Check(t.Context(), whole) {
				break // may be left early
			}
		})
	}
}

func TestRemovalLetsGoOfMemory(t *testing.T) {
	ix := filled(t)
	ix.RemoveAll("t1")
	if n := len(ix.commits) + len(ix.ids) + len(ix.threads) + len(ix.rows.blocks) + len(ix.coords) + len(ix.names.blocks) + len(ix.active.blocks); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

// TestAppendsAreJudgedAtOnce has two goroutines judge appends under the lock for reading, as
// natsstore does. The race detector finds memory that they share.
func TestAppendsAreJudgedAtOnce(t *testing.T) {
	ix := New()
	b := storetest.NewBuilder().Log("t2")
	batch := []*posthouse.Batch{b.Next(b.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))}
	ix.RLock()
	defer ix.RUnlock()
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if fresh, err := ix.Admit(batch); err != nil || len(fresh) != 1 {
				t.Errorf("%d admitted, %v", len(fresh), err)
			}
		})
	}
	group.Wait()
}
