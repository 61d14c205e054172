package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

// TestTurns: a token has its share and waits for its own, and no token keeps another waiting.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2, 5)
		take := func(name string, within time.Duration) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			return turns.Take(ctx, name)
		}
		must := func(name string) func() {
			t.Helper()
			give, err := take(name, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			return give
		}
		a := must("a")
		must("a")
		var e *posthouse.Error
		if _, err := take("a", time.Second); !errors.As(err, &e) || e.Code != problem.CodeTooMany {
			t.Errorf("a third turn: %v", err)
		}
		must("b")
		b := must("b")
		c := must("c")
		if _, err := take("c", time.Second); !errors.As(err, &e) || e.Code != problem.CodeTooMany {
			t.Errorf("a sixth turn of all: %v", err)
		}
		waited := make(chan error)
		go func() { _, err := take("a", time.Hour); waited <- err }()
		synctest.Wait()
		a()
		a() // once more does nothing
		if err := <-waited; err != nil {
			t.Error(err)
		}
		b()
		c()
		if len(turns.of) != 2 || turns.of["c"] != nil {
			t.Errorf("of %d tokens something is kept", len(turns.of))
		}
	})
}
