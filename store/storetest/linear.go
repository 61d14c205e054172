package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse"
)

func linearCases() []Case {
	return []Case{{
		Name: "race/heads are linearizable",
		Rule: "For appends and reads of the tail by 8 clients there is one order that explains every answer and agrees with real time. A store that takes appends without comparing must be caught by the same check.",
		Run:  linearHeads,
	}}
}

// A headOp is an append, or a read of the tail.
type headOp struct {
	thread string
	append bool
	after  posthouse.Position
	next   posthouse.Position
}

// A headAnswer says whether an append was taken, or else where the log ends.
type headAnswer struct {
	taken bool
	tail  posthouse.Position
}

// headModel describes how the tail of a log may change.
var headModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		at := map[string]int{}
		for _, op := range history {
			thread := op.Input.(headOp).thread
			i, ok := at[thread]
			if !ok {
				i = len(parts)
				at[thread], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() any { return posthouse.Position{} },
	Step: func(state, input, output any) (bool, any) {
		tail, in, out := state.(posthouse.Position), input.(headOp), output.(headAnswer)
		if in.append && out.taken {
			return tail == in.after, in.next
		}
		return tail == out.tail && (!in.append || tail != in.after), tail
	},
}

func linearHeads(t *T) {
	if result := t.linearizable(t.Store); result != porcupine.Ok {
		t.Errorf("the history of heads is not linearizable: %v", result)
	}
	if result := t.linearizable(blind{t.Fresh()}); result != porcupine.Illegal {
		t.Errorf("control: a store that does not compare is not caught: %v", result)
	}
}

// blind is a store that accepts every append without comparing.
type blind struct{ posthouse.Store }

func (s blind) Append(ctx context.Context, b *posthouse.Batch) error {
	err := s.Store.Append(ctx, b)
	if isCode(err, posthouse.CodeConflict) {
		return nil
	}
	return err
}

// linearizable records a history of heads and checks it. Its clock counts events, which
// orders all events that did not overlap.
func (t *T) linearizable(s posthouse.Store) porcupine.CheckResult {
	const clients, ops = 8, 60
	on := *t
	on.Store = s
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	together(clients, func(i int) {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range ops {
			op, act := on.headOp(i, n, rnd)
			call := clock.Add(1)
			answer, err := act()
			end := clock.Add(1)
			if err != nil {
				on.Errorf("client %d: %v", i, err)
				return
			}
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: i, Input: op, Output: answer, Call: call, Return: end})
			mu.Unlock()
		}
	})
	return porcupine.CheckOperationsTimeout(headModel, history, time.Minute)
}

// headOp prepares a client's next operation. The first is an append to the same empty
// log, so that there is a conflict under every schedule.
func (t *T) headOp(client, n int, rnd *rand.Rand) (headOp, func() (headAnswer, error)) {
	op := headOp{thread: fmt.Sprint("t", rnd.IntN(2)), append: n == 0 || rnd.IntN(2) == 0}
	if !op.append {
		return op, func() (headAnswer, error) { return t.readTail(op.thread, n%2 == 0) }
	}
	l := t.Builder.Log("t0")
	if n > 0 {
		var err error
		if l, err = t.tail(op.thread); err != nil {
			return op, func() (headAnswer, error) { return headAnswer{}, err }
		}
	}
	b := l.Next(l.Step("s", fmt.Append(nil, client, n)))
	op.thread, op.after, op.next = l.Info.Thread, b.After, b.Thread.Tail
	return op, func() (headAnswer, error) {
		err := t.Store.Append(t.ctx, b)
		var e *posthouse.Error
		if errors.As(err, &e) && e.Code == posthouse.CodeConflict && e.Tail != nil {
			return headAnswer{tail: *e.Tail}, nil
		}
		return headAnswer{taken: true}, err
	}
}

// readTail reads where a log ends, from the summary or from the log.
func (t *T) readTail(thread string, summary bool) (headAnswer, error) {
	if summary {
		l, err := t.tail(thread)
		return headAnswer{tail: l.Info.Tail}, err
	}
	es, err := collect(t, t.Store.Read(t.ctx, thread, posthouse.Range{Reverse: true, Limit: 1, Headers: true}))
	if err != nil || len(es) == 0 {
		return headAnswer{}, err
	}
	return headAnswer{tail: posthouse.Position{Seq: es[0].Seq, Hash: es[0].Hash}}, nil
}
