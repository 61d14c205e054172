package pgstore

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
)

// TestClosedWhileConnecting holds that a call which Close keeps from connecting fails as
// closed, with an error that is Posthouse's own.
func TestClosedWhileConnecting(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Start(t).URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.wrap("read", context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("its caller ended the call: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.wrap("read", context.Canceled); !errors.Is(err, posthouse.ErrClosed) {
		t.Errorf("the store was closed: %v, want ErrClosed", err)
	}
}

// TestClosedAfterALostAppend holds that the outcome of an append stays unknown if its
// connection was lost, and the store was closed before it could be asked again.
func TestClosedAfterALostAppend(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Start(t).URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.retryUnknown(t.Context(), func(context.Context, *conn, bool, bool) error {
		s.lifecycle.Close()
		return s.unreachable("append", io.ErrUnexpectedEOF)
	})
	if !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
	s.lifecycle = lifecycle.State{Store: s.lifecycle.Store}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *conn, bool, bool) error { return nil }
	if err := s.retryUnknown(t.Context(), nothing); !errors.Is(err, posthouse.ErrClosed) {
		t.Errorf("an append behind Close: %v, want ErrClosed", err)
	}
}
