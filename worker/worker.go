package worker

import (
	"cmp"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// Options configure a [Worker]. Nil is the zero value.
type Options struct {
	Name         string        // in logs and records, 1 to 200 bytes; default: the host's name
	Group        string        // it takes tasks of this group, and those without a group
	Concurrency  int           // how many tasks it handles at once, at most 10,000; 0 is 1
	DrainTimeout time.Duration // how long handlers may go on when Run is to end, and again once they are cancelled; 0 is 10 seconds
	Logger       *slog.Logger  // default: no log

	// Now is by what the duration of a step is told. Default: time.Now.
	Now func() time.Time
}

const defaultDrainTimeout = 10 * time.Second

// A Handler handles a task. It gives one verdict through t, or returns an error, which
// fails the attempt.
type Handler func(t Task) error

// A Worker handles tasks of an engine.
type Worker struct {
	engine task.Engine
	opt    Options

	mu       sync.Mutex
	handlers map[string]Handler
	running  bool
}

// New returns a Worker without handlers. [posthouse.ErrInvalid] names an option that does not
// fit.
func New(engine task.Engine, o *Options) (*Worker, error) {
	if o == nil {
		o = &Options{}
	}
	w := &Worker{engine: engine, opt: *o, handlers: map[string]Handler{}}
	if w.opt.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, posthouse.Invalid("Name", "is required: the host has no name (%v)", err)
		}
		w.opt.Name = host
	}
	w.opt.Concurrency, w.opt.DrainTimeout = cmp.Or(w.opt.Concurrency, 1), cmp.Or(w.opt.DrainTimeout, defaultDrainTimeout)
	if w.opt.Now == nil {
		w.opt.Now = time.Now
	}
	if w.opt.Logger == nil {
		w.opt.Logger = slog.New(slog.DiscardHandler)
	}
	if w.opt.DrainTimeout < 0 {
		return nil, posthouse.Invalid("DrainTimeout", "is %s; it must not be negative", o.DrainTimeout)
	}
	h := w.hello()
	h.Tasks = []string{"any"}
	return w, h.Check()
}

// HandleFunc has h handle the tasks of a name. [Handle] is its typed form. It panics for a
// name that has a handler, and once the Worker runs, as [http.ServeMux] does.
func (w *Worker) HandleFunc(name string, h Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.running:
		panic("worker: a handler of " + name + " was added while the worker runs")
	case w.handlers[name] != nil:
		panic("worker: the task " + name + " has a handler already")
	case h == nil:
		panic("worker: the handler of " + name + " is nil")
	}
	w.handlers[name] = h
}

// hello says what the worker handles.
func (w *Worker) hello() task.Hello {
	return task.Hello{
		Protocol: task.Protocol, Worker: w.opt.Name, Group: w.opt.Group, Concurrency: w.opt.Concurrency,
		Tasks: slices.Sorted(maps.Keys(w.handlers)),
	}
}
