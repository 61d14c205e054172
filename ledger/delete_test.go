package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// waitsFor commits a thread of a coordination that waits for another's end, and
// that one, which waits for an answer.
func waitsFor(t *testing.T, l *ledger.Ledger, thread, called, coordination string) {
	t.Helper()
	must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: called, Gates: []posthouse.Gate{{Name: "ask"}}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
	}))(t)
	must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: thread, Gates: []posthouse.Gate{{Name: "call", Kind: posthouse.GateThread, Text: called, ExpiresAt: l.Now().Add(time.Hour)}},
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Coordination: coordination},
	}))(t)
}

// A deaf store finds no id while it is on.
type deaf struct {
	posthouse.Store
	on bool
}

func (s *deaf) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if s.on {
		return posthouse.Ref{}, errInjected
	}
	return s.Store.Find(ctx, id)
}

// TestDeleteOfAThreadWithUnreadableWaits: for damage or for want of
// the key it is deleted all the same, and the error says that what it waited for
// goes on. A store that fails now may know when it is asked again.
func TestDeleteOfAThreadWithUnreadableWaits(t *testing.T) {
	ctx := t.Context()
	for name, x := range map[string]struct {
		cipher posthouse.Cipher
		change func(posthouse.Store) posthouse.Store
		want   error
		gone   bool
	}{
		"damaged": {nil, func(s posthouse.Store) posthouse.Store {
			return &tampered{s, func(e *posthouse.Entry) {
				for _, b := range e.Bodies {
					if e.Thread == "t" && len(b) > 0 {
						b[len(b)-1] ^= 1
					}
				}
			}}
		}, posthouse.ErrCorrupt, true},
		"sealed":  {keyring(t, "k1"), func(s posthouse.Store) posthouse.Store { return s }, posthouse.ErrSealed, true},
		"failing": {nil, func(s posthouse.Store) posthouse.Store { return &deaf{s, true} }, errInjected, false},
	} {
		store := memstore.New()
		waitsFor(t, over(t, store, x.cipher), "t", "called", "")
		l := over(t, x.change(store), nil)
		del, err := retain.DeleteThread(ctx, l, "t", nil)
		if !errors.Is(err, x.want) || (del != nil) != x.gone {
			t.Errorf("%s: the deletion says %+v, %v; want %v", name, del, err, x.want)
			continue
		}
		if del != nil && (del.Checkpoints != 1 || del.Gates != 1 || !strings.Contains(err.Error(), "what thread t, which was deleted, waited for")) {
			t.Errorf("%s: the deletion says %+v, %v", name, del, err)
		}
		if _, err := l.Thread(ctx, "t"); errors.Is(err, posthouse.ErrNotFound) != x.gone {
			t.Errorf("%s: the thread: %v", name, err)
		}
		if info := must.Get(l.Thread(ctx, "called"))(t); info.Status != posthouse.StatusWaiting {
			t.Errorf("%s: what it waited for is %s", name, info.Status)
		}
	}
}

// TestDeleteCoordinationGoesOn where a thread is gone but what it waited for
// cannot be cancelled: the sums hold it, and the error names it.
func TestDeleteCoordinationGoesOn(t *testing.T) {
	ctx := t.Context()
	store := &barred{Store: memstore.New(), threads: map[string]bool{}}
	l := over(t, store, nil)
	for _, thread := range []string{"a", "b", "c"} {
		waitsFor(t, l, thread, thread+".1", "team")
	}
	store.threads["a.1"], store.threads["b.1"] = true, true
	del, err := retain.DeleteCoordination(ctx, l, "team", nil)
	if del == nil || del.Checkpoints != 3 || del.Gates != 3 {
		t.Errorf("what went: %+v", del)
	}
	for _, called := range []string{"thread a.1", "thread b.1"} {
		if !errors.Is(err, posthouse.ErrTooLarge) || !strings.Contains(err.Error(), called) {
			t.Errorf("the error does not name %s: %v", called, err)
		}
	}
	if info := must.Get(l.Thread(ctx, "c.1"))(t); info.Status != posthouse.StatusCancelled {
		t.Errorf("c.1 is %s", info.Status)
	}
	waitsFor(t, l, "d", "d.1", "team")
	waitsFor(t, l, "e", "e.1", "team")
	store.threads["d"] = true
	del, err = retain.DeleteCoordination(ctx, l, "team", nil)
	if del == nil || del.Checkpoints != 0 || !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("of a thread that stays: %+v, %v", del, err)
	}
	must.Get(l.Thread(ctx, "e"))(t)
}
