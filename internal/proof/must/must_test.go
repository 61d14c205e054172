package must_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// A teller is a test that keeps what it is ended with, and goes on.
type teller struct{ said []string }

func (*teller) Helper() {}

func (t *teller) Fatalf(format string, args ...any) {
	t.said = append(t.said, fmt.Sprintf(format, args...))
}

// TestMessagesNameTheError, and what was wanted in its place.
func TestMessagesNameTheError(t *testing.T) {
	closed, busy := errors.New("closed"), errors.New("busy")
	for name, c := range map[string]struct {
		call func(must.TB)
		want []string
	}{
		"a value":         {func(t must.TB) { must.Get(1, nil)(t) }, nil},
		"no value":        {func(t must.TB) { must.Get(0, closed)(t) }, []string{"it failed: closed"}},
		"success":         {func(t must.TB) { must.Do(t, nil) }, nil},
		"failure":         {func(t must.TB) { must.Do(t, busy) }, []string{"it failed: busy"}},
		"the error":       {func(t must.TB) { must.Fail(t, fmt.Errorf("now: %w", busy), busy) }, nil},
		"another error":   {func(t must.TB) { must.Fail(t, closed, busy) }, []string{"the error is closed; want busy"}},
		"no error at all": {func(t must.TB) { must.Fail(t, nil, busy) }, []string{"the error is <nil>; want busy"}},
	} {
		told := &teller{}
		c.call(told)
		if !slices.Equal(told.said, c.want) {
			t.Errorf("%s ends the test with %q; want %q", name, told.said, c.want)
		}
	}
	if v := must.Get(7, nil)(t); v != 7 {
		t.Errorf("the value is %d; want 7", v)
	}
}
