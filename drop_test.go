package posthouse_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestAVersionGoesAfterThoseItTellsAbout drops a version that records what was
// removed, or that a hold was lifted, in an older one: not before the older one,
// or its log would not say why something is missing.
func TestAVersionGoesAfterThoseItTellsAbout(t *testing.T) {
	ctx := context.Background()
	for name, act := range map[string]func(t *testing.T, l *posthouse.Ledger, old posthouse.ID){
		"a checkpoint was removed": func(t *testing.T, l *posthouse.Ledger, old posthouse.ID) {
			capped := must[*posthouse.Ledger](t)(posthouse.Open(l.Store(), &posthouse.Options{MaxCheckpoints: 3}))
			must[*posthouse.Checkpoint](t)(capped.Save(ctx, posthouse.Root("other", opaque(t, "1")), nil))
			if _, err := capped.Get(ctx, old); !errors.Is(err, posthouse.ErrNotFound) {
				t.Fatalf("the cap left it: %v", err)
			}
		},
		"a hold was lifted": func(t *testing.T, l *posthouse.Ledger, _ posthouse.ID) {
			if err := l.Unhold(ctx, "t", posthouse.HoldOptions{By: "legal"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			c := must[*posthouse.Checkpoint](t)(l.Save(ctx, posthouse.Root("t", opaque(t, "1")), nil))
			must[*posthouse.Checkpoint](t)(l.Save(ctx, c.Derive(opaque(t, "2")), nil))
			if name == "a hold was lifted" {
				must[*posthouse.Hold](t)(l.Hold(ctx, "t", posthouse.HoldOptions{By: "legal"}))
			}
			must[*posthouse.Release](t)(l.Release(ctx, "t", nil))
			must[*posthouse.Checkpoint](t)(l.Save(ctx, posthouse.Root("t", opaque(t, "3")), nil))
			act(t, l, c.ID)
			must[*posthouse.Release](t)(l.Release(ctx, "t", nil))
			must[*posthouse.Checkpoint](t)(l.Save(ctx, posthouse.Root("t", opaque(t, "4")), nil))
			if _, err := l.DropRelease(ctx, "t", "2", nil); !errors.Is(err, posthouse.ErrConflict) {
				t.Errorf("dropping the younger first: %v", err)
			}
			for _, version := range []string{"1", "2"} {
				if _, err := l.DropRelease(ctx, "t", version, nil); err != nil {
					t.Errorf("version %s: %v", version, err)
				}
			}
			info := must[*posthouse.ThreadInfo](t)(l.Thread(ctx, "t"))
			if info.Hold.Seq != 0 || info.Archived != 0 || info.Checkpoints != 1 {
				t.Errorf("the thread is %+v", info)
			}
		})
	}
}
