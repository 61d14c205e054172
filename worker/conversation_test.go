package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/worker"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// A message is one turn of a conversation with a model.
type message struct {
	Role, Content string
}

// A model counts its calls by the turn that they are about.
type model struct {
	mu    sync.Mutex
	calls map[int]int
	hang  func(ctx context.Context, turn int) error // in the middle of a call
}

func (m *model) call(ctx context.Context, history []message) (string, error) {
	turn := len(history)
	m.mu.Lock()
	m.calls[turn]++
	m.mu.Unlock()
	if err := m.hang(ctx, turn); err != nil {
		return "", err
	}
	return fmt.Sprint("thought ", turn), nil
}

// converse is an agent's loop: one call of the model an iteration, and the whole
// conversation kept after each.
func converse(m *model) worker.Handler {
	return func(t worker.Task) error {
		history, ok, err := worker.Load[[]message](t)
		if err != nil {
			return err
		}
		if !ok {
			history = []message{{"user", string(t.Input())}}
		}
		answer, err := m.call(t.Context(), history)
		if err != nil {
			return err
		}
		history = append(history, message{"assistant", answer})
		if err := worker.Save(t, history); err != nil {
			return err
		}
		if len(history) == 6 {
			return t.Complete(history)
		}
		return t.Continue(len(history))
	}
}

// TestAConversationRepeatsOnlyTheCurrentCall, when its worker is cut off in the middle of
// an iteration and another one goes on.
func TestAConversationRepeatsOnlyTheCurrentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		line := &cable{Engine: s.d}
		m := &model{calls: map[int]int{}}
		cut := make(chan struct{})
		m.hang = func(ctx context.Context, turn int) error {
			if turn != 3 || line.cut.Swap(true) {
				return nil
			}
			close(cut)
			<-ctx.Done() // as good as dead
			return context.Cause(ctx)
		}
		s.work(line, "w1", converse(m))
		go func() {
			<-cut
			s.work(s.d, "w2", converse(m))
		}()
		out, err := s.outcome("t")
		if err != nil {
			t.Fatal(err)
		}
		line.cut.Store(false)
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		var history []message
		if err := json.Unmarshal(b, &history); err != nil {
			t.Fatal(err)
		}
		want := []message{{"user", "7"}}
		for turn := 1; turn < 6; turn++ {
			want = append(want, message{"assistant", fmt.Sprint("thought ", turn)})
			if calls := m.calls[turn]; calls != 1 && (turn != 3 || calls != 2) {
				t.Errorf("turn %d took %d calls", turn, calls)
			}
		}
		if m.calls[3] != 2 {
			t.Errorf("the call that was cut off was made %d times", m.calls[3])
		}
		if !slices.Equal(history, want) {
			t.Errorf("history %v", history)
		}
	})
}
