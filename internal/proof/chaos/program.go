package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// steps is how many steps a run has. The even ones are tasks.
const steps = 10

// taskName is what workers handle.
const taskName = "work"

// A job is the input of a run, and of each of its steps.
type job struct {
	Thread string `json:"thread"`
	Step   int    `json:"step"`
	Value  uint64 `json:"value"`
}

// next is what a step makes of its input.
func (j job) next() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d ", j.Thread, j.Step)
	_ = binary.Write(h, binary.LittleEndian, j.Value) // a hash takes everything
	return h.Sum64() >> 12                            // exact as a number of JSON
}

// expected returns the output of a run that nothing happens to.
func expected(thread string) (value uint64) {
	for i := range steps {
		value = job{thread, i, value}.next()
		if p, ok := paymentBehind(thread, i, value); ok {
			value = p.after(value)
		}
	}
	return value
}

// open opens the program on a ledger. With forgetful the steps of engines are not recorded,
// as a control arm.
func open(l *ledger.Ledger, w *witness, forgetful bool) (*flow.App[job, uint64], error) {
	return flow.New("chaos", func(ctx context.Context, in job) (value uint64, err error) {
		for i := range steps {
			j, name := job{in.Thread, i, value}, fmt.Sprint("s", i)
			local := func(ctx context.Context) (uint64, error) { return j.execute(ctx, w) }
			switch {
			case i%2 == 0:
				value, err = step.RemoteWith[uint64](ctx, name, taskName, j, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1000}}}) // each loss costs one
			case forgetful:
				value, err = local(ctx)
			default:
				value, err = step.Do(ctx, name, local)
			}
			if err != nil {
				return 0, err
			}
			if err := w.write(statement{Mark: recorded, Thread: in.Thread, Step: i}); err != nil {
				return 0, err
			}
			if p, ok := paymentBehind(in.Thread, i, value); ok {
				value, err = p.pay(ctx, w, value)
				if err != nil {
					return 0, err
				}
			}
		}
		return value, nil
	}).Open(l, nil)
}

// execute is the function of a step: it tells the witness, and takes a while. Without a
// witness it returns at once.
func (j job) execute(ctx context.Context, w *witness) (uint64, error) {
	if err := ctx.Err(); err != nil || w == nil {
		return j.next(), err
	}
	if err := w.write(statement{Mark: executed, Thread: j.Thread, Step: j.Step}); err != nil {
		return 0, err
	}
	return j.next(), dawdle(ctx)
}

// dawdle takes a while.
func dawdle(ctx context.Context) error {
	t := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
