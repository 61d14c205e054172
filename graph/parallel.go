package graph

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// A workers runs the tasks of one step beside each other.
type workers[S any] struct {
	run   *run[S]
	tasks []task[S]
	todo  []*task[S]
	next  atomic.Int64 // the first of todo that nobody has taken
	stop  atomic.Bool  // take no more
	out   chan *outcome[S]
	ended []*outcome[S] // by task; nil for one that was not run
}

// runParallel takes a step of several tasks. Each works on a copy of the state; a
// result is on record as soon as its task completed, unless all of them did.
func (r *run[S]) runParallel(ctx context.Context) (*Result[S], error) {
	c := &workers[S]{run: r, tasks: make([]task[S], len(r.frontier.tasks))}
	c.ended = make([]*outcome[S], len(c.tasks))
	for i := range c.tasks {
		r.initTask(&c.tasks[i], i)
		c.tasks[i].parallel = true
		o, err := r.recallTask(ctx, &c.tasks[i])
		if err != nil {
			return nil, err
		}
		if c.ended[i] = o; o == nil {
			c.todo = append(c.todo, &c.tasks[i])
		}
	}
	if err := c.runAll(ctx); err != nil {
		return nil, err
	}
	done := c.ended[:0:0]
	missing := false
	for _, o := range c.ended {
		if missing = missing || o == nil; o != nil {
			done = append(done, o)
		}
	}
	res, err := r.routeOutcomes(ctx, done)
	switch {
	case res != nil || err != nil:
		return res, err
	case slices.ContainsFunc(done, func(o *outcome[S]) bool { return o.kind != taskDone }):
		return nil, nil // what it waited for has come: the step is taken again
	case missing: // it was asked to drain
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
		return r.finish(EventPark, *r.live.Value, nil), nil
	}
	return r.mergeStep(ctx, done)
}

// runAll runs what is to do and puts results on record as they come.
func (c *workers[S]) runAll(ctx context.Context) error {
	if len(c.todo) == 0 {
		return nil
	}
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	width := min(c.run.app.width, len(c.todo))
	c.out = make(chan *outcome[S], width)
	var workers sync.WaitGroup
	for range width {
		workers.Go(func() { c.loop(own) })
	}
	go func() { workers.Wait(); close(c.out) }()
	var broken error
	left := len(c.todo)
	for o := range c.out {
		batch := []*outcome[S]{o}
		for more := true; more; {
			select {
			case o, ok := <-c.out:
				if more = ok; ok {
					batch = append(batch, o)
				}
			default:
				more = false
			}
		}
		for _, o := range batch {
			left--
			c.ended[o.task.index] = o
			if o.kind == taskFailed || o.kind == taskStopped {
				c.stop.Store(true)
				if c.run.app.failFast || o.kind == taskStopped {
					cancel(errSibling)
				}
			}
		}
		if broken == nil && (left > 0 || !c.allDone()) {
			broken = c.run.recordResults(ctx, batch)
		}
		if broken != nil {
			c.stop.Store(true)
			cancel(broken)
		}
	}
	if broken == nil && !c.allDone() {
		broken = c.run.recordResults(ctx, c.ended)
	}
	return broken
}

// errSibling ends the tasks beside one that failed.
var errSibling = &posthouse.Error{Code: posthouse.CodeConflict, Message: "a task of the same step failed"}

// allDone reports whether every task completed: then the step's checkpoint holds
// their results, and nothing else need be recorded.
func (c *workers[S]) allDone() bool {
	for _, o := range c.ended {
		if o == nil || o.kind != taskDone {
			return false
		}
	}
	return true
}

func (c *workers[S]) loop(ctx context.Context) {
	r := c.run
	for !c.stop.Load() && !engine.Draining(ctx) {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.todo) {
			return
		}
		t := c.todo[i]
		o := r.runBranch(ctx, t)
		r.reportEnd(o)
		c.out <- o
	}
}

// runBranch performs a task on a state of its own. A panic of a codec is the task's.
func (r *run[S]) runBranch(ctx context.Context, t *task[S]) (o *outcome[S]) {
	err := engine.Guard(func() error {
		o = r.runTask(ctx, t, func(bool) (*state.Live[S], error) { return branchOf(r.live, r.app.schema, t) })
		return nil
	})
	if err != nil {
		o = t.outcome.of(t).end(taskFailed, err)
	}
	o.live = nil
	return o
}

// A resultJSON is the record of a completed task.
type resultJSON struct {
	Writes []writeJSON `json:"writes,omitempty"`
	Next   []taskJSON  `json:"next,omitempty"`
	Parent []string    `json:"parent,omitempty"` // where the graph around a subgraph goes on
	By     string      `json:"by,omitempty"`     // the fingerprint of the whole graph, if nodes may be called otherwise on record

	Program []programJSON `json:"program,omitempty"`
}

// A programJSON is a change of a program's part.
type programJSON struct {
	Name   string `json:"name"`
	Codec  string `json:"codec,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Drop   bool   `json:"drop,omitempty"`
	Splice bool   `json:"splice,omitempty"`
	Prefix int    `json:"prefix,omitempty"`
	Suffix int    `json:"suffix,omitempty"`
}

type writeJSON struct {
	Part  string          `json:"part"`
	Value json.RawMessage `json:"value,omitempty"` // of codec json
	Codec string          `json:"codec,omitempty"` // of another
	Data  []byte          `json:"data,omitempty"`
	Over  bool            `json:"over,omitempty"` // the whole value, whatever the part's rule
}

// recordResults puts completed tasks on record, and what those that wait hold: they
// never run again, whatever becomes of the others.
func (r *run[S]) recordResults(ctx context.Context, batch []*outcome[S]) error {
	var steps []posthouse.Step
	for _, o := range batch {
		if o == nil || o.recorded || o.kind != taskDone {
			continue
		}
		d := resultJSON{}
		for _, w := range o.writes {
			j := writeJSON{Part: w.Field.Part, Over: w.Over}
			if w.Codec == posthouse.JSON.Name() {
				j.Value = w.Data
			} else {
				j.Codec, j.Data = w.Codec, w.Data
			}
			d.Writes = append(d.Writes, j)
		}
		for i := range o.next {
			d.Next = append(d.Next, wireTask(&o.next[i]))
		}
		d.Parent = o.parent
		if len(r.renames()) > 0 {
			d.By = r.fingerprint
		}
		for _, p := range o.program {
			d.Program = append(d.Program, programJSON(p))
		}
		data, err := json.Marshal(&d)
		if err != nil {
			return err
		}
		o.recorded = true
		steps = append(append(steps, o.exec.Held()...), posthouse.Step{
			Task: o.task.key.String(), Name: stepDone, Effect: o.task.node.opt.Effect,
			Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data},
		})
	}
	if len(steps) == 0 {
		return nil
	}
	_, err := r.sess.Commit(ctx, &posthouse.Draft{Steps: steps})
	return err
}

// recallTask returns the outcome of a task that completed before, or that has
// nothing to do but to wait on; nil for one that is to run.
func (r *run[S]) recallTask(ctx context.Context, t *task[S]) (o *outcome[S], err error) {
	exec, err := r.sess.TaskFor(ctx, t.key)
	if err != nil || exec.Fresh() {
		return nil, err
	}
	defer func() {
		if o != nil && r.subrun != nil {
			r.subrun.exec.Adopt(exec)
		}
	}()
	o = &outcome[S]{task: t, exec: exec, recorded: true}
	rec, ok := exec.Recorded(stepDone)
	if !ok {
		if o.open = exec.Rests(r.sess.Head().Seq); len(o.open) > 0 {
			o.kind = taskWaits
			return o, nil
		}
		return nil, nil
	}
	d, err := r.app.readRecordedTask(rec.Value.Data, r.renames(), r.fingerprint)
	if err == nil {
		o.writes, o.next, o.parent, o.program = d.writes, d.next, d.parent, d.program
	}
	return o, err
}

// mergeStep merges what the tasks of a step wrote, once all completed, and commits
// the step.
func (r *run[S]) mergeStep(ctx context.Context, done []*outcome[S]) (*Result[S], error) {
	err := r.mergeAndCommit(ctx, done)
	if err == nil {
		r.reportUpdates(done)
		return nil, r.reportState(EventNode)
	}
	if r.sess.Err() != nil {
		return nil, err
	}
	if e := r.recordResults(ctx, done); e != nil {
		return nil, e
	}
	return nil, r.commitFailure(ctx, joinNodes(done), nil, err)
}

func (r *run[S]) mergeAndCommit(ctx context.Context, done []*outcome[S]) error {
	if err := merge(r.live, r.app.name, done, nil); err != nil {
		return err
	}
	ends := make([]completion, len(done))
	for i, o := range done {
		ends[i] = taskCompletion(o.task.target, o.next)
	}
	if err := r.app.advanceFrontier(r.frontier, r.nextFrontier, ends); err != nil {
		return err
	}
	parts, err := r.live.Delta()
	if err != nil {
		return err
	}
	if err := r.live.Detach(); err != nil {
		return err
	}
	return r.completeStep(ctx, done, parts)
}

// joinNodes names the nodes of a step, each once and spelled, as in "draft+check".
func joinNodes[S any](done []*outcome[S]) string {
	if len(done) == 1 {
		return escapeName(done[0].task.node.name)
	}
	return joinNames(func(yield func(string) bool) {
		for _, o := range done {
			if !yield(o.task.node.name) {
				return
			}
		}
	})
}

func joinNames(nodes iter.Seq[string]) string {
	var names []string
	size := 0
	seen := map[string]bool{}
	for n := range nodes {
		n = escapeName(n)
		if seen[n] {
			continue
		}
		if size += len(n) + 1; size > posthouse.MaxID-3 {
			names = append(names, "...")
			break
		}
		seen[n] = true
		names = append(names, n)
	}
	return strings.Join(names, "+")
}
