package away_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
)

// TestRead wants reads to be unavailable where writes are unknown, and nothing else to
// change.
func TestRead(t *testing.T) {
	lost := &posthouse.Error{Code: posthouse.CodeUnknown, Message: "gone", Hint: "wait", Err: errors.New("refused")}
	full := &posthouse.Error{Code: posthouse.CodeFull}
	for _, tt := range []struct {
		err, want error
		away      bool
	}{
		{nil, nil, false},
		{lost, posthouse.ErrUnavailable, true},
		{fmt.Errorf("reading: %w", lost), posthouse.ErrUnavailable, true},
		{full, full, false},
		{errors.ErrUnsupported, errors.ErrUnsupported, false},
	} {
		got := away.Read(tt.err)
		if !errors.Is(got, tt.want) || errors.Is(got, posthouse.ErrUnknown) || away.Is(got) != tt.away || away.Is(tt.err) != tt.away {
			t.Errorf("of %v: %v", tt.err, got)
		}
		for n, err := range away.Reads(iter.Seq2[int, error](func(yield func(int, error) bool) { yield(7, tt.err) })) {
			if n != 7 || !errors.Is(err, tt.want) {
				t.Errorf("an iterator: %d, %v", n, err)
			}
		}
		for err := range away.Checks(func(yield func(error) bool) { yield(tt.err) }) {
			if !errors.Is(err, tt.want) {
				t.Errorf("a check: %v", err)
			}
		}
	}
	if lost.Code != posthouse.CodeUnknown {
		t.Error("the error itself was changed")
	}
}
