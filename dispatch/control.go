package dispatch

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

var (
	_ task.Control = (*Dispatcher)(nil)
	_ task.Gauged  = (*Dispatcher)(nil)
)

// Tasks implements [task.Control]. It reads a slot for each task.
func (d *Dispatcher) Tasks(ctx context.Context, q task.Query) iter.Seq2[*task.Info, error] {
	return d.control.Tasks(ctx, q)
}

// Task implements [task.Control].
func (d *Dispatcher) Task(ctx context.Context, gate posthouse.ID) (*task.Info, error) {
	return d.control.Task(ctx, gate)
}

// Workers implements [task.Control]. It does not know the claims of workers at other processes,
// nor those workers if the store cannot list slots.
func (d *Dispatcher) Workers(ctx context.Context) ([]task.WorkerInfo, error) {
	return d.control.Workers(ctx)
}

// Slot implements [task.Control].
func (d *Dispatcher) Slot(ctx context.Context, gate posthouse.ID) ([]byte, error) {
	return d.control.Slot(ctx, gate)
}

// ClearSlot implements [task.Control].
func (d *Dispatcher) ClearSlot(ctx context.Context, gate posthouse.ID) error {
	return d.control.ClearSlot(ctx, gate)
}

// Resume implements [task.Control]. The gate's decision says who did it.
func (d *Dispatcher) Resume(ctx context.Context, gate posthouse.ID, by string) (*task.Info, error) {
	return d.control.Resume(ctx, gate, by)
}

// Pause implements [task.Control]. The gate's decision says who did it.
func (d *Dispatcher) Pause(ctx context.Context, gate posthouse.ID, wait time.Duration, by string) (*task.Info, error) {
	return d.control.Pause(ctx, gate, wait, by)
}

// Retry implements [task.Control].
func (d *Dispatcher) Retry(ctx context.Context, gate posthouse.ID, by string) (*task.Info, error) {
	return d.control.Retry(ctx, gate, by)
}

// Purge implements [task.Control]. It does nothing if another call has the task go on.
func (d *Dispatcher) Purge(ctx context.Context, gate posthouse.ID, by string) error {
	return d.control.Purge(ctx, gate, by)
}

// Gauges implements [task.Gauged]. It goes over the open tasks in memory, and reads nothing:
// 10,000 take a few milliseconds, in which no task is claimed. A task that a worker of another
// process has counts as ready until a claim here has looked at it. With [Options.Hints], tasks
// that the queue has count as at the last poll of all tasks, of each minute, and so do always the
// workers of other processes.
func (d *Dispatcher) Gauges() task.Gauges {
	g := d.control.Gauges()
	g.Retries, g.Failed, g.Silent = d.attempts.retries.Load(), d.attempts.failed.Load(), d.silent.Load()
	return g
}
