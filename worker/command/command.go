package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// Options configure a [Program]. Nil is the zero value.
type Options struct {
	Plain        bool          // the program reads the input and prints the output, and nothing else
	DrainTimeout time.Duration // between SIGTERM and SIGKILL; 0 is 5 seconds
	Dir          string        // where it runs; default: the worker's directory
	Env          []string      // NAME=value, beside the worker's environment
	Logger       *slog.Logger  // receives its standard error, line by line; default: no log
}

const defaultDrainTimeout = 5 * time.Second

// A Program handles tasks: each execution is a process. It is safe for concurrent use.
type Program struct {
	argv []string
	opt  Options

	mu      sync.Mutex
	running map[*process]struct{}
}

// New returns the program of a command line: argv[0] is looked up in PATH, and nothing is
// left to a shell. [posthouse.ErrInvalid] if it is not there, or an option does not fit.
func New(argv []string, o *Options) (*Program, error) {
	if o == nil {
		o = &Options{}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, posthouse.Invalid("argv", "is empty: name the program")
	}
	p := &Program{argv: slices.Clone(argv), opt: *o, running: map[*process]struct{}{}}
	p.opt.DrainTimeout = cmp.Or(p.opt.DrainTimeout, defaultDrainTimeout)
	if p.opt.DrainTimeout < 0 {
		return nil, posthouse.Invalid("DrainTimeout", "is %s; it must not be negative", p.opt.DrainTimeout)
	}
	if p.opt.Logger == nil {
		p.opt.Logger = slog.New(slog.DiscardHandler)
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path) // it may run in another directory
	}
	if err != nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "argv", Message: fmt.Sprintf("names the program %q, which cannot be run", argv[0]), Err: err,
			Hint: "give its path, or install it where PATH finds it",
		}
	}
	p.argv[0] = path
	return p, nil
}

// Kill ends all processes of the program at once. Their attempts have failed.
func (p *Program) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.running {
		c.kill()
	}
}

// Handle is the [worker.Handler]. It returns when the process has ended, and nothing that
// it started in its group is left.
func (p *Program) Handle(t worker.Task) error {
	input := []byte(t.Input())
	if !p.opt.Plain {
		line, err := firstLine(t)
		if err != nil {
			return err
		}
		input = line
	}
	c := newProcess(p.argv, p.opt.Dir, p.environment(t))
	if err := c.start(); err != nil {
		return fmt.Errorf("the program cannot be started: %w", err)
	}
	p.note(c, true)
	defer p.note(c, false)
	log := p.opt.Logger.With("task", t.TaskName(), "thread", t.RunID(), "attempt", t.Attempt())
	var output outcome
	var streams sync.WaitGroup
	bad := make(chan struct{})
	answers := make(chan []byte, maxUnread)
	answers <- input
	if p.opt.Plain {
		answers <- nil // the end of the input
	}
	streams.Go(func() { c.feed(answers) })
	streams.Go(func() { c.readErrors(log) })
	streams.Go(func() {
		defer close(answers)
		if p.opt.Plain {
			output.plain, output.err = readOutput(c.stdout)
		} else {
			d := dialogue{task: t, answers: answers, log: log, records: newRecords()}
			output.given, output.refused, output.err = d.read(c.stdout)
			output.waiting = d.waiting
		}
		if output.err != nil {
			close(bad)
		}
	})
	c.supervise(t.Context(), bad, p.opt.DrainTimeout)
	streams.Wait()
	return p.judge(t, c, &output)
}

// note keeps what runs for Kill.
func (p *Program) note(c *process, runs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if runs {
		p.running[c] = struct{}{}
	} else {
		delete(p.running, c)
	}
}

// An outcome is what the output of a process said.
type outcome struct {
	plain   json.RawMessage // of a plain program
	given   bool            // the verdict was taken
	refused error           // the last verdict that was not
	waiting bool            // it was told to end and wait
	err     error           // what the output has no place for
}

// judge says what became of an execution after its process ended.
func (p *Program) judge(t worker.Task, c *process, o *outcome) error {
	cause := context.Cause(t.Context())
	switch {
	case o.given:
		return nil // how it ended after that changes nothing
	case o.waiting && o.err == nil && c.err == nil && o.refused == nil:
		return posthouse.ErrWaiting
	case p.opt.Plain && cause == nil && o.err == nil && c.err == nil && json.Valid(o.plain):
		return t.Complete(o.plain)
	}
	err := withTail(p.failure(c, o, cause), c)
	var exit *exec.ExitError
	if p.opt.Plain && cause == nil && o.err == nil && errors.As(c.err, &exit) && exit.ExitCode() == ExitNotDone {
		return effect.MarkNotDone(err)
	}
	return unclear(err)
}

// failure says why an execution has no verdict.
func (p *Program) failure(c *process, o *outcome, cause error) error {
	switch {
	case cause != nil:
		return cause
	case o.err != nil:
		return o.err
	case c.err != nil:
		return fmt.Errorf("the program ended with %w", c.err)
	case p.opt.Plain:
		return posthouse.Invalid("output", "of the program is not one JSON value: %.80q", o.plain)
	case o.refused != nil:
		return fmt.Errorf("the program ended without a verdict: the one it gave was refused: %w", o.refused)
	}
	return errors.New("the program ended without a verdict")
}

// ExitNotDone is the exit code with which a plain program says that it failed and did nothing
// that a grant licenses. It is EX_TEMPFAIL of sysexits.h.
const ExitNotDone = 75

// An unclearError is the failure of a program that was started and gave no verdict. It is
// then unknown whether an effect under a grant happened.
type unclearError struct{ error }

func unclear(err error) error { return unclearError{err} }

func (e unclearError) Unwrap() error { return e.error }

// Is matches [posthouse.ErrUnknown].
func (e unclearError) Is(target error) bool { return target == posthouse.ErrUnknown }

// withTail adds the end of standard error to an error.
func withTail(err error, c *process) error {
	tail := strings.TrimSpace(strings.ToValidUTF8(string(c.tail), "?"))
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, tail)
}

// A Task is the first line that a program reads.
type Task struct {
	Task       string            `json:"task"`
	Thread     string            `json:"thread"`
	Step       string            `json:"step"`
	Key        string            `json:"key"`                  // the same for all attempts and iterations
	Attempt    int               `json:"attempt"`              // from 1
	Iteration  int               `json:"iteration"`            // from 0
	Input      json.RawMessage   `json:"input"`                // the task's
	Continued  json.RawMessage   `json:"continued,omitempty"`  // what the last iteration went on with
	Resumed    string            `json:"resumed,omitempty"`    // the pause it comes back from
	Failure    string            `json:"failure,omitempty"`    // of the last attempt
	Checkpoint json.RawMessage   `json:"checkpoint,omitempty"` // what was saved last
	Metadata   map[string]string `json:"metadata,omitempty"`
	Trace      map[string]string `json:"trace,omitempty"`
}

// firstLine returns the line that says what the task is.
func firstLine(t worker.Task) ([]byte, error) {
	saved, err := t.LoadCheckpoint()
	if err != nil {
		return nil, err
	}
	if saved != nil && !json.Valid(saved) {
		return nil, posthouse.Invalid("checkpoint", "is not JSON: a handler in Go saved it, and a program reads JSON only")
	}
	b, err := json.Marshal(Task{
		Task: t.TaskName(), Thread: t.RunID(), Step: t.StepID(), Key: t.Key(), Attempt: t.Attempt(), Iteration: t.Iteration(),
		Input: t.Input(), Continued: t.Continued(), Resumed: t.Resumed(), Failure: t.LastFailure(), Checkpoint: saved, Metadata: t.Metadata(), Trace: t.Trace(),
	})
	if err != nil {
		return nil, posthouse.Invalid("task", "does not encode: %v", err)
	}
	return append(b, '\n'), nil
}

// environment returns the variables of a process.
func (p *Program) environment(t worker.Task) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(strings.ToUpper(v), "POSTHOUSE_")
	})
	own = append(own, p.opt.Env...)
	return append(own,
		"POSTHOUSE_TASK_NAME="+t.TaskName(), "POSTHOUSE_TASK_KEY="+t.Key(), "POSTHOUSE_TASK_THREAD="+t.RunID(), "POSTHOUSE_TASK_STEP="+t.StepID(),
		"POSTHOUSE_TASK_ATTEMPT="+strconv.Itoa(t.Attempt()), "POSTHOUSE_TASK_ITERATION="+strconv.Itoa(t.Iteration()))
}

// MaxLine bounds a line of the program's output, in bytes: a value of [task.MaxOutput] and
// what is around it.
const MaxLine = task.MaxOutput + 16<<10
