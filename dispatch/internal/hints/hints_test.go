package hints_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/hints"
	"github.com/posthouse/posthouse/task/hint"
)

// shared is a queue in memory that keeps what it is told, and can be away.
type shared struct {
	mu        sync.Mutex
	away      bool
	published []string            // gates, with a mark if they were published again
	deliver   func(hint.Delivery) // of the request that is open
	said      []string            // of hints that were delivered
}

func (s *shared) check() error {
	if s.away {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the queue is away"}
	}
	return nil
}

func (s *shared) Open(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check()
}

func (s *shared) Publish(_ context.Context, again bool, all ...hint.Hint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range all {
		name := string(h.Gate)
		if again {
			name += " again"
		}
		s.published = append(s.published, name)
	}
	return s.check()
}

func (s *shared) Take(ctx context.Context, d hint.Demand, fn func(hint.Delivery)) error {
	s.mu.Lock()
	s.deliver = fn
	s.mu.Unlock()
	select {
	case <-time.After(d.Wait):
	case <-ctx.Done():
	}
	return nil
}

// set says whether the queue is away.
func (s *shared) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// take returns and forgets what was published.
func (s *shared) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.published
	s.published = nil
	return all
}

// delivery is a hint that says into the queue what becomes of it.
type delivery struct {
	s *shared
	h hint.Hint
}

func (d *delivery) say(what string) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.s.said = append(d.s.said, string(d.h.Gate)+" "+what)
}

func (d *delivery) Hint() hint.Hint       { return d.h }
func (d *delivery) Ack()                  { d.say("ack") }
func (d *delivery) InProgress()           { d.say("in progress") }
func (d *delivery) Later(w time.Duration) { d.say(fmt.Sprint("later ", w)) }
func (d *delivery) Dead(reason string)    { d.say("dead " + reason) }

// bench is an engine's end of a shared queue, with a board.
type bench struct {
	*testing.T
	shared  *shared
	board   *board.Board
	queue   *hints.Queue
	claimed map[posthouse.ID]bool
}

// start starts an engine's end of a queue, until the test's bubble ends.
func start(t *testing.T) *bench {
	b := &bench{T: t, shared: &shared{}, board: board.New(nil), claimed: map[posthouse.ID]bool{}}
	b.queue = hints.New(b.shared, b.board, hints.Options{
		Now: time.Now, Lease: 3 * time.Second, Idle: time.Second, Poll: time.Second, Logger: slog.New(slog.DiscardHandler),
		IsClaimed: func(gate posthouse.ID) bool { return b.claimed[gate] }, IsLost: func(posthouse.ID) bool { return false },
	})
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	b.queue.Start(ctx, &group)
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	return b
}

// offer offers a task that may be claimed after a time.
func (b *bench) offer(gate posthouse.ID, after time.Duration) bool {
	b.Helper()
	at := time.Now().Add(after)
	published := b.queue.Offer(board.FromGate(&posthouse.Gate{ID: gate, Thread: "t", Call: &posthouse.TaskCall{Task: "pay", NotBefore: at}}), false)
	synctest.Wait()
	return published
}

// deliver has the shared queue give a hint to a call that waits.
func (b *bench) deliver(gate posthouse.ID) {
	b.Helper()
	done := b.queue.Request([]board.QueueKey{{Task: "pay"}})
	synctest.Wait()
	done()
	b.shared.deliver(&delivery{b.shared, hint.Hint{Gate: gate, Thread: "t", Task: "pay", NotBefore: time.Now()}})
}

func (b *bench) want(what string, got any, want string) {
	b.Helper()
	if s := fmt.Sprint(got); s != want {
		b.Errorf("%s: %s, want %s", what, s, want)
	}
}

// TestOfferPublishesReadyTasks while the shared queue is up, and delayed ones when they are ready.
func TestOfferPublishesReadyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.want("a ready task is published", b.offer("ready", 0), "true")
		b.want("a delayed task is published", b.offer("delayed", time.Minute), "false")
		b.want("published at once", b.shared.take(), "[ready]")
		b.want("the board has the delayed task", b.board.Has("delayed"), "false")
		time.Sleep(time.Minute)
		synctest.Wait()
		b.want("published after a minute", b.shared.take(), "[delayed]")
	})
}

// TestQueueThatIsAwayLeavesTasksToTheBoard, also those that were to be published later. When it is
// back, it is told of all of them.
func TestQueueThatIsAwayLeavesTasksToTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.offer("delayed", time.Hour)
		b.shared.set(true)
		b.offer("lost", 0) // while it is published the queue goes away
		b.offer("found", 0)
		b.want("the board has tasks", []bool{b.board.Has("delayed"), b.board.Has("lost"), b.board.Has("found")}, "[true false true]")
		select {
		case <-b.queue.Relist():
		default:
			b.Error("no list of all tasks is asked for, and one task is lost")
		}
		b.shared.take()
		b.shared.set(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		b.want("published when it is back", b.shared.take(), "[found again]")
		b.want("the board has a task", b.board.Has("found"), "false")
	})
}

// TestHintsFollowTheirTask: they are in progress while their task is on the board or claimed here,
// and are settled when it is neither.
func TestHintsFollowTheirTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		for _, gate := range []posthouse.ID{"claimed", "gone", "idle"} {
			b.deliver(gate)
		}
		now := time.Now()
		for range 2 {
			next, _, _ := b.board.Next([]board.QueueKey{{Task: "pay"}}, now)
			b.claimed[next.Gate] = next.Gate == "claimed"
			b.queue.Remove(next)
		}
		b.want("after two tasks were taken", b.shared.said, "[gone ack]")
		b.shared.said = nil
		b.queue.NackIdle()
		b.want("at once", len(b.shared.said), "2")
		b.shared.said = nil
		time.Sleep(time.Second)
		b.queue.NackIdle()
		b.want("after a second", b.shared.said, "[idle later 0s claimed in progress]")
		b.shared.said = nil
		delete(b.claimed, "claimed")
		b.queue.Nack("claimed")
		b.want("after the claim has ended", b.shared.said, "[claimed later 0s]")
	})
}
