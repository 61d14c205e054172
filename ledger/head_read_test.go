package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"reflect"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A lossyStore damages the header of one entry, and loses the entries from another on.
type lossyStore struct {
	*memstore.Store
	damaged, lost uint64
}

func (s *lossyStore) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && s.lost != 0 && e.Seq >= s.lost {
				continue
			}
			if err == nil && e.Seq == s.damaged {
				c := *e
				c.Header = bytes.Clone(e.Header)
				c.Header[len(c.Header)-1] ^= 1
				e = &c
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func openLossy(t *testing.T) (*lossyStore, *ledger.Ledger) {
	t.Helper()
	s := &lossyStore{Store: memstore.New()}
	l, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// commitKinds appends a checkpoint of each kind, and returns the head as the summary names it.
func commitKinds(t *testing.T, l *ledger.Ledger, kinds ...string) *posthouse.Header {
	t.Helper()
	for _, kind := range kinds {
		c := &posthouse.Change{Kind: kind, Status: posthouse.StatusInterrupted, CreatedAt: time.Now(), Labels: map[string]string{}, Next: []string{}}
		if _, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: c}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := l.Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := info.Branch("main")
	h, err := ledger.HeadOf(t.Context(), l, info, b)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestKnownHeadIsAsRead compares a head that the process knows with what is read.
func TestKnownHeadIsAsRead(t *testing.T) {
	_, l := openLossy(t)
	known := commitKinds(t, l, posthouse.KindInput)
	read, err := l.GetHeader(t.Context(), known.ID)
	if err != nil || !reflect.DeepEqual(known, read) {
		t.Errorf("known:\n%#v\nread:\n%#v, %v", known, read, err)
	}
}

// TestLineageOfManyWaits walks up more waits than a reader may keep.
func TestLineageOfManyWaits(t *testing.T) {
	_, l := openLossy(t)
	kinds := []string{posthouse.KindInput}
	for range 2 * threadlog.KeepEntries {
		kinds = append(kinds, posthouse.KindWait)
	}
	r := l.Core().Logs.Reader(t.Context(), "t")
	line, err := r.Lineage(commitKinds(t, l, kinds...))
	if err != nil || line[len(line)-1].From != 1 {
		t.Errorf("line %+v, error %v", line, err)
	}
	if len(r.Have) > threadlog.KeepEntries+600 {
		t.Errorf("the reader keeps %d entries, want about %d at most", len(r.Have), threadlog.KeepEntries)
	}
}

// TestRunGoesOnPastEarlierDamage goes on with a run although an entry before it is damaged.
func TestRunGoesOnPastEarlierDamage(t *testing.T) {
	s, l := openLossy(t)
	var kinds []string
	for range 12 {
		kinds = append(kinds, posthouse.KindNode)
	}
	head := commitKinds(t, l, append(kinds, posthouse.KindWait, posthouse.KindWait, posthouse.KindWait)...)
	s.damaged = 7
	if _, err := ledger.Executions(t.Context(), l, head); err != nil {
		t.Error(err)
	}
	s.damaged = 13
	if _, err := ledger.Executions(t.Context(), l, head); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("what a run needs is damaged: %v", err)
	}
}

// TestLostDecisionOfAClaimedThread misses an entry that another process has written since the
// claim, and that the summary names.
func TestLostDecisionOfAClaimedThread(t *testing.T) {
	s, l := openLossy(t)
	other, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	done, err := l.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "q", Task: "1/x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := l.Core().Claim(t.Context(), "t", "run")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = claim.Release(t.Context()) }()
	if _, err := other.Decide(t.Context(), done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	s.lost = 2
	if _, err := ledger.Executions(t.Context(), l, done.Checkpoint); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("the decision is lost: %v, want ErrCorrupt", err)
	}
}
