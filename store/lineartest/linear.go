package lineartest

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
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/store/storetest"
)

// Cases lists the suite, which is one case.
func Cases() []storetest.Case {
	return []storetest.Case{{
		Name: "race/heads are linearizable",
		Rule: "For appends and reads of the tail by 8 clients there is one order that explains every answer and agrees with real time. A store that takes appends without comparing must be caught by the same check.",
		Run:  heads,
	}}
}

// Run runs the suite over a store. It is called like [storetest.Run], under the same
// conditions.
func Run[R storetest.Runner[R]](t R, h storetest.Harness) { storetest.RunCases(t, h, Cases()) }

func heads(t *storetest.T) {
	if result := linearizable(t, t.Store); result != porcupine.Ok {
		t.Errorf("the history of heads is not linearizable: %v", result)
	}
	if result := linearizable(t, blind{t.Fresh()}); result != porcupine.Illegal {
		t.Errorf("control: a store that does not compare is not caught: %v", result)
	}
}

// blind is a store that accepts every append without comparing.
type blind struct{ posthouse.Store }

func (s blind) Append(ctx context.Context, b *posthouse.Batch) error {
	err := s.Store.Append(ctx, b)
	if errors.Is(err, posthouse.ErrConflict) {
		return nil
	}
	return err
}

// linearizable records a history of heads and checks it. Its clock counts events, which
// orders all events that did not overlap.
func linearizable(t *storetest.T, s posthouse.Store) porcupine.CheckResult {
	const clients, ops = 8, 60
	on := *t
	on.Store = s
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	storetest.Together(clients, func(i int) {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range ops {
			op, act := headOp(&on, i, n, rnd)
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
	return porcupine.CheckOperationsTimeout(model.Heads(), history, time.Minute)
}

// headOp prepares a client's next operation. The first is an append to the same empty
// log, so that there is a conflict under every schedule.
func headOp(t *storetest.T, client, n int, rnd *rand.Rand) (model.Op, func() (model.Answer, error)) {
	op := model.Op{Do: model.Tail, Key: fmt.Sprint("t", rnd.IntN(2))}
	if n > 0 && rnd.IntN(2) == 0 {
		return op, func() (model.Answer, error) { return readTail(t, op.Key, n%2 == 0) }
	}
	l := t.Builder.Log("t0")
	if n > 0 {
		var err error
		l, err = t.Tail(op.Key)
		if err != nil {
			return op, func() (model.Answer, error) { return model.Answer{}, err }
		}
	}
	b := l.Next(l.Step("s", fmt.Append(nil, client, n)))
	op = model.Op{Do: model.Append, Key: l.Info.Thread, After: position(b.After), Next: position(b.Thread.Tail)}
	return op, func() (model.Answer, error) {
		err := t.Store.Append(t.Context(), b)
		var e *posthouse.Error
		if errors.As(err, &e) && e.Code == posthouse.CodeConflict && e.Tail != nil {
			return model.Answer{Code: model.Conflict, Tail: position(*e.Tail)}, nil
		}
		return model.Answer{}, err
	}
}

// readTail reads where a log ends, from the summary or from the log.
func readTail(t *storetest.T, thread string, summary bool) (model.Answer, error) {
	if summary {
		l, err := t.Tail(thread)
		return model.Answer{Tail: position(l.Info.Tail)}, err
	}
	es, err := storetest.Collect(t, t.Store.Read(t.Context(), thread, posthouse.Range{Reverse: true, Limit: 1, Headers: true}))
	if err != nil || len(es) == 0 {
		return model.Answer{}, err
	}
	return model.Answer{Tail: position(posthouse.Position{Seq: es[0].Seq, Hash: es[0].Hash})}, nil
}

// position writes a place in a log, "" for the end of an empty one.
func position(p posthouse.Position) string {
	if p == (posthouse.Position{}) {
		return ""
	}
	return fmt.Sprintf("%d:%s", p.Seq, p.Hash)
}
