package board_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task/hint"
)

var start = time.Unix(1_000, 0)

// open returns an open task that may be claimed so many seconds after the start.
func open(gate posthouse.ID, name, group string, after time.Duration) *board.Task {
	return board.FromGate(&posthouse.Gate{
		ID: gate, Thread: "t", CreatedAt: start, Call: &posthouse.TaskCall{Task: name, Group: group, NotBefore: start.Add(after)},
	})
}

// wantNext fails unless the gate want, "" for no gate, is next in the queues after a time. It
// returns the task.
func wantNext(t *testing.T, b *board.Board, want posthouse.ID, after time.Duration, keys ...board.QueueKey) *board.Task {
	t.Helper()
	next, _, _ := b.Next(keys, start.Add(after))
	var got posthouse.ID
	if next != nil {
		got = next.Gate
	}
	if got != want {
		t.Fatalf("next of %v after %s is %q, want %q", keys, after, got, want)
	}
	return next
}

// TestNextTakesTheFirstReadyTask of the queues that are asked for, and waits for one that is due later.
func TestNextTakesTheFirstReadyTask(t *testing.T) {
	b := board.New(nil)
	pay, ship, shipEU := board.QueueKey{Task: "pay"}, board.QueueKey{Task: "ship"}, board.QueueKey{Task: "ship", Group: "eu"}
	for _, task := range []*board.Task{open("g3", "pay", "", 0), open("g1", "pay", "", 5*time.Second), open("g2", "ship", "eu", 0)} {
		if !b.Add(task) || b.Add(task) {
			t.Fatalf("task %s was not added once", task.Gate)
		}
	}
	wantNext(t, b, "", 0, ship)
	wantNext(t, b, "g2", 0, ship, shipEU, pay)
	wantNext(t, b, "g3", 0, ship, shipEU, pay)
	task, ready, news := b.Next([]board.QueueKey{pay}, start)
	if task != nil || !ready.Equal(start.Add(5*time.Second)) {
		t.Fatalf("next is %v, and the first task is ready at %s, want g1 after 5 s", task, ready)
	}
	b.Add(open("g4", "pay", "", 0))
	select {
	case <-news:
	default:
		t.Error("a call that waits did not hear of a new task")
	}
	wantNext(t, b, "g4", 0, pay)
	wantNext(t, b, "g1", 5*time.Second, pay)
}

// TestRequeuedTasksWait until they are tried again, and a task that was dropped does not come back.
func TestRequeuedTasksWait(t *testing.T) {
	b := board.New(nil)
	pay := board.QueueKey{Task: "pay"}
	b.Add(open("g1", "pay", "", 0))
	task := wantNext(t, b, "g1", 0, pay)
	b.Requeue(task, start.Add(time.Second), true)
	wantNext(t, b, "", 0, pay)
	task = wantNext(t, b, "g1", time.Second, pay)
	if !b.Drop("g1") {
		t.Error("a task that was taken was not on the board")
	}
	b.Requeue(task, start, false)
	wantNext(t, b, "", time.Minute, pay)
	if b.Remove(task) || b.Has("g1") {
		t.Error("a task that was dropped is on the board again")
	}
}

// TestLimitCountsEachTaskOnce from when it is taken until it is released, and room wakes those that wait.
func TestLimitCountsEachTaskOnce(t *testing.T) {
	b := board.New(map[string]int{"pay": 2})
	pay := board.QueueKey{Task: "pay"}
	for _, gate := range []posthouse.ID{"g1", "g2", "g3"} {
		b.Add(open(gate, "pay", "", 0))
	}
	first := wantNext(t, b, "g1", 0, pay)
	b.SetClaimed("pay", "g1")
	b.Remove(first)
	wantNext(t, b, "g2", 0, pay)
	if !b.IsFull("pay") || b.IsFull("ship") {
		t.Errorf("full: pay %t, ship %t, want true and false", b.IsFull("pay"), b.IsFull("ship"))
	}
	_, _, news := b.Next([]board.QueueKey{pay}, start)
	b.SetReleased("pay", "g1")
	select {
	case <-news:
	default:
		t.Error("a call that waits for room did not hear of it")
	}
	wantNext(t, b, "g3", 0, pay)
}

// TestHintedTasks are told from those that the engine found: only they are given back.
func TestHintedTasks(t *testing.T) {
	b := board.New(nil)
	pay := board.QueueKey{Task: "pay"}
	b.Add(open("found", "pay", "", 0))
	b.AddHinted(hint.Hint{Gate: "hinted", Thread: "t", Task: "pay", NotBefore: start}, start)
	if n := b.CountHinted(pay); n != 1 {
		t.Errorf("%d hinted tasks, want 1", n)
	}
	if idle := b.TakeIdle(start.Add(time.Second), 2*time.Second); len(idle) != 0 {
		t.Errorf("%d tasks are idle after a second, want 0", len(idle))
	}
	if found := b.TakeUnhinted(); len(found) != 1 || found[0].Gate != "found" {
		t.Errorf("took %v, want the task that was found", found)
	}
	if idle := b.TakeIdle(start.Add(2*time.Second), 2*time.Second); len(idle) != 1 || idle[0].Gate != "hinted" {
		t.Errorf("idle after two seconds: %v, want the hinted task", idle)
	}
	wantNext(t, b, "", time.Minute, pay)
}
