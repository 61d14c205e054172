package lifecycle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
)

func opened() *lifecycle.State {
	return &lifecycle.State{Store: "the store x", Writer: "the process", Poisoned: "after an error", Cure: "look"}
}

// wantError wants an error with a text, a hint and a code; nil for an empty text.
func wantError(t *testing.T, call string, err error, text, hint string, is error) {
	t.Helper()
	if text == "" {
		if err != nil {
			t.Errorf("%s: got %v, want no error", call, err)
		}
		return
	}
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Message != text || e.Hint != hint || !errors.Is(err, is) {
		t.Errorf("%s: got %v, want %q with the hint %q and the code of %v", call, err, text, hint, is)
	}
}

func TestAnOpenStoreTakesCalls(t *testing.T) {
	s := opened()
	wantError(t, "Usable", s.Usable(t.Context()), "", "", nil)
	wantError(t, "Writable", s.Writable(t.Context()), "", "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for call, err := range map[string]error{"Usable": s.Usable(ctx), "Writable": s.Writable(ctx)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the context has ended: %v", call, err)
		}
	}
}

func TestAStoreForReadingOnlyRefusesWrites(t *testing.T) {
	s := opened()
	s.ReadOnly = true
	wantError(t, "Usable", s.Usable(t.Context()), "", "", nil)
	wantError(t, "Writable", s.Writable(t.Context()),
		"the store x was opened for reading only", "send the change to the process that has it open for writing", posthouse.ErrReadOnly)
}

func TestAPoisonedStoreKeepsItsFirstCause(t *testing.T) {
	s := opened()
	first := errors.New("the disk is gone")
	if s.Damage() != nil || !s.Poison(first) || s.Poison(errors.New("later")) || s.Damage() == nil {
		t.Error("the first cause is not the one that poisons")
	}
	err := s.Writable(t.Context())
	wantError(t, "Writable", err, "the store x takes no more writes after an error", "look", posthouse.ErrReadOnly)
	if !errors.Is(err, first) {
		t.Errorf("Writable does not name the first cause: %v", err)
	}
	wantError(t, "Usable", s.Usable(t.Context()), "", "", nil)
}

func TestAClosedStoreTakesNothing(t *testing.T) {
	s := opened()
	s.ReadOnly = true
	s.Poison(errors.New("before"))
	if s.Closed() || !s.Close() || s.Close() || !s.Closed() {
		t.Error("the first Close is not the one that closes")
	}
	for call, err := range map[string]error{"Usable": s.Usable(t.Context()), "Writable": s.Writable(t.Context()), "ClosedError": s.ClosedError()} {
		wantError(t, call, err, "the store x was closed", "", posthouse.ErrClosed)
	}
}
