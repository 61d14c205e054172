package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
)

// TestMemoryIsBounded: the oldest letters go, long ones are cut, and each may be taken out once.
func TestMemoryIsBounded(t *testing.T) {
	ctx, m := t.Context(), deadletter.NewMemory(func() time.Time { return time.Unix(7, 0) })
	for i := range 1001 {
		if err := m.Put(ctx, deadletter.Letter{Kind: deadletter.Request, Subject: fmt.Sprint(i), Reason: "r", Data: make([]byte, 5000)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := m.Letters(ctx, 2000)
	if err != nil || len(all) != 1000 || all[0].Subject != "1000" || all[999].Subject != "1" {
		t.Fatalf("%d letters, %v", len(all), err)
	}
	l := all[0]
	if len(l.Data) != deadletter.MaxData || l.Size != 5000 || !l.At.Equal(time.Unix(7, 0)) {
		t.Errorf("%d bytes of %d at %s", len(l.Data), l.Size, l.At)
	}
	if err := m.Replay(ctx, l.ID); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Error(err)
	}
	if err := m.Remove(ctx, l.ID); err != nil {
		t.Error(err)
	}
	for _, err := range []error{m.Remove(ctx, l.ID), m.Replay(ctx, l.ID), m.Remove(ctx, "1")} {
		if !errors.Is(err, posthouse.ErrNotFound) {
			t.Error(err)
		}
	}
	if few, err := m.Letters(ctx, 2); err != nil || len(few) != 2 || few[0].Subject != "999" {
		t.Errorf("few %+v, error %v", few, err)
	}
	if n, err := m.Purge(ctx); n != 999 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestLettersThatMayBeReplayed(t *testing.T) {
	for want, l := range map[*posthouse.Error]deadletter.Letter{
		posthouse.ErrUnsupported: {Kind: deadletter.Request},
		posthouse.ErrTooLarge:    {Kind: deadletter.Hint, Size: 5},
	} {
		if err := l.MayReplay(); !errors.Is(err, want) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if err := (&deadletter.Letter{Kind: deadletter.Hint, Size: 1, Data: []byte("x")}).MayReplay(); err != nil {
		t.Error(err)
	}
}

// away is a box that takes nothing while it is away.
type away struct {
	*deadletter.Memory
	err error
}

func (a *away) Put(ctx context.Context, l deadletter.Letter) error {
	if a.err != nil {
		return a.err
	}
	return a.Memory.Put(ctx, l)
}

func (a *away) Letters(ctx context.Context, n int) ([]deadletter.Letter, error) {
	if a.err != nil {
		return nil, a.err
	}
	return a.Memory.Letters(ctx, n)
}

// TestLettersAreKeptHereWhileTheQueueIsAway, and are shown and taken out.
func TestLettersAreKeptHereWhileTheQueueIsAway(t *testing.T) {
	ctx, at := t.Context(), time.Unix(7, 0)
	clock := func() time.Time { at = at.Add(time.Second); return at }
	shared := &away{deadletter.NewMemory(clock), posthouse.ErrUnavailable}
	b := deadletter.Beside(shared, clock)
	if _, err := b.Letters(ctx, 10); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Error(err)
	}
	put := func(subject string) {
		if err := b.Put(ctx, deadletter.Letter{Kind: deadletter.Request, Subject: subject}); err != nil {
			t.Fatal(err)
		}
	}
	put("own")
	if all, err := b.Letters(ctx, 10); err != nil || len(all) != 1 || all[0].Subject != "own" {
		t.Errorf("all %+v, error %v", all, err)
	}
	shared.err = nil
	put("shared")
	put("shared, too")
	all, err := b.Letters(ctx, 10)
	if err != nil || len(all) != 3 || all[0].Subject != "shared, too" || all[2].Subject != "own" {
		t.Fatalf("all %+v, error %v", all, err)
	}
	for _, l := range all[1:] {
		if err := b.Replay(ctx, l.ID); !errors.Is(err, posthouse.ErrUnsupported) {
			t.Errorf("%s: %v", l.ID, err)
		}
		if err := b.Remove(ctx, l.ID); err != nil {
			t.Error(err)
		}
		if err := b.Remove(ctx, l.ID); !errors.Is(err, posthouse.ErrNotFound) {
			t.Error(err)
		}
	}
	shared.err = posthouse.ErrUnavailable
	put("own again")
	shared.err = nil
	if n, err := b.Purge(ctx); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
