package deadletter_test

import (
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
		t.Errorf("%+v, %v", few, err)
	}
	if n, err := m.Purge(ctx); n != 999 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestWhatMayBeReplayed(t *testing.T) {
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
