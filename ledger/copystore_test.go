package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// TestCopyLeavesAnotherLogsKey: where source and target each have a log of a
// name, encrypted, the target's data key is not the source's to replace; neither
// where the source has but the key, as of a first commit that a crash kept out.
func TestCopyLeavesAnotherLogsKey(t *testing.T) {
	ctx := context.Background()
	key := posthouse.SlotKey{Thread: "t", Step: "$key-1"}
	for _, logless := range []bool{false, true} {
		from, to, ring := memstore.New(), memstore.New(), keyring(t, "k1")
		made := from
		if logless {
			made = memstore.New()
		}
		must.Get(over(t, made, ring).Save(ctx, posthouse.Root("t", opaque(t, "the source's")), nil))(t)
		if logless {
			s := must.Get(made.Slot(ctx, key, posthouse.SlotOp{}))(t)
			must.Get(from.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: s.Value}))(t)
		}
		want := must.Get(over(t, to, ring).Save(ctx, posthouse.Root("t", opaque(t, "the target's")), nil))(t)
		for range 2 {
			if done, err := transfer.CopyStore(ctx, from, to, nil); !errors.Is(err, posthouse.ErrConflict) || done.Slots > 0 {
				t.Errorf("logless %v: the copy says %+v, %v; want ErrConflict and no slots", logless, done, err)
			}
		}
		if got, err := over(t, to, ring).Get(ctx, want.ID); err != nil || text(got) != text(want) {
			t.Errorf("logless %v: the target's thread cannot be read any more: %v", logless, err)
		}
	}
}

// TestCopyNamesTheFirstOfMany threads that are passed over, and says how many
// more there are.
func TestCopyNamesTheFirstOfMany(t *testing.T) {
	ctx := context.Background()
	from, to := memstore.New(), memstore.New()
	const conflicts = 150
	for i := range conflicts + 1 {
		for j, s := range []*memstore.Store{from, to} {
			if i == conflicts && j == 1 {
				break
			}
			must.Get(over(t, s, nil).Save(ctx, posthouse.Root(fmt.Sprintf("t%03d", i), opaque(t, j)), nil))(t)
		}
	}
	bad := &tampered{from, func(e *posthouse.Entry) {
		if e.Thread == fmt.Sprintf("t%03d", conflicts) { // the last one: still told of
			e.Header[len(e.Header)/2] ^= 1
		}
	}}
	_, err := transfer.CopyStore(ctx, bad, to, nil)
	if !errors.Is(err, posthouse.ErrConflict) || !errors.Is(err, posthouse.ErrCorrupt) {
		t.Fatalf("the copy says %v", err)
	}
	var first *posthouse.Error
	if errors.As(err, &first); first.Code != posthouse.CodeCorrupt {
		t.Errorf("damage does not come first: %v", first)
	}
	if n := strings.Count(err.Error(), "has another log"); n != 100 || !strings.Contains(err.Error(), "and 50 more threads that differ") {
		t.Errorf("%d of %d conflicts are named: %v", n, conflicts, err)
	}
}

// TestCopyOfALogCutShort: a thread that lost its last entry is reported, and not
// copied as if it had ended there.
func TestCopyOfALogCutShort(t *testing.T) {
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	busyThread(t, l)
	tail := must.Get(l.Thread(t.Context(), "t"))(t).Tail
	to := memstore.New()
	done, err := transfer.CopyStore(t.Context(), &without{store, tail.Seq}, to, nil)
	if !errors.Is(err, posthouse.ErrCorrupt) || done.Entries != 0 {
		t.Errorf("copied %+v, %v", done, err)
	}
}
