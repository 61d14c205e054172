package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// TestAVersionGoesAfterThoseItTellsAbout drops a version that records what was
// removed, or that a hold was lifted, in an older one: not before the older one,
// or its log would not say why something is missing.
func TestAVersionGoesAfterThoseItTellsAbout(t *testing.T) {
	ctx := context.Background()
	for name, act := range map[string]func(t *testing.T, l *ledger.Ledger, old posthouse.ID){
		"a checkpoint was removed": func(t *testing.T, l *ledger.Ledger, old posthouse.ID) {
			capped := must.Get(ledger.Open(l.Store(), &ledger.Options{MaxCheckpoints: 3}))(t)
			must.Get(capped.Save(ctx, posthouse.Root("other", opaque(t, "1")), nil))(t)
			if _, err := capped.Get(ctx, old); !errors.Is(err, posthouse.ErrNotFound) {
				t.Fatalf("the cap left it: %v", err)
			}
		},
		"a hold was lifted": func(t *testing.T, l *ledger.Ledger, _ posthouse.ID) {
			if err := retain.Unhold(ctx, l, "t", retain.HoldOptions{By: "legal"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "1")), nil))(t)
			must.Get(l.Save(ctx, c.Derive(opaque(t, "2")), nil))(t)
			if name == "a hold was lifted" {
				must.Get(retain.Hold(ctx, l, "t", retain.HoldOptions{By: "legal"}))(t)
			}
			must.Get(l.Release(ctx, "t", nil))(t)
			must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "3")), nil))(t)
			act(t, l, c.ID)
			must.Get(l.Release(ctx, "t", nil))(t)
			must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "4")), nil))(t)
			if _, err := retain.DropRelease(ctx, l, "t", "2", nil); !errors.Is(err, posthouse.ErrConflict) {
				t.Errorf("dropping the younger first: %v", err)
			}
			for _, version := range []string{"1", "2"} {
				if _, err := retain.DropRelease(ctx, l, "t", version, nil); err != nil {
					t.Errorf("version %s: %v", version, err)
				}
			}
			info := must.Get(l.Thread(ctx, "t"))(t)
			if info.Hold.Seq != 0 || info.Archived != 0 || info.Checkpoints != 1 {
				t.Errorf("the thread is %+v", info)
			}
		})
	}
}
