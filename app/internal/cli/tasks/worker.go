package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/httptask"
	"github.com/posthouse/posthouse/worker"
	"github.com/posthouse/posthouse/worker/command"
)

// workerFlags are the flags of worker.
type workerFlags struct {
	worker.Options
	commands []string // NAME=COMMAND
	plain    bool
	drain    env.Span // how long commands may go on when the worker is to end
	grace    env.Span // between SIGTERM and SIGKILL
	log      env.LogFlags
	nats     NATSFlags
}

// Worker returns the command worker, with what is below it.
func Worker(e *env.Env) *cobra.Command {
	var w workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Handle tasks with commands, in any language",
		Long: `Handle tasks with commands, in any language.

Each execution of a task runs the command that --task gives for its name. The
command is split at spaces, and no shell sees it. It reads the task as one line of
JSON, prints requests as lines of JSON, and reads an answer to each: docs/workers.md
has the protocol. With --plain it reads the input and prints the output instead.

It talks to a server over HTTP, with a token of the role worker, or over NATS where --nats
says so: with the same token where that is a posthouse with --nats-listen. On SIGTERM it takes no more tasks,
lets commands go on for the time of --drain, and gives back what they leave.`,
		Example: `  posthouse worker --task resize="python3 resize.py"
  posthouse worker --server https://posthouse.example --token-file gpu-1.token --group gpu --at-once 4 --task resize=./resize --task crop=./crop
  posthouse worker --nats tls://a.example:4222,tls://b.example:4222 --nats-ca ca.pem --token-file gpu-1.token --task resize=./resize
  posthouse worker list`,
		RunE: func(cmd *cobra.Command, _ []string) error { return work(cmd.Context(), e, &w) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&w.commands, "task", nil, "NAME=COMMAND: what handles the tasks of a name; repeat for more (required)")
	f.BoolVar(&w.plain, "plain", false, "the commands read the input and print the output, and nothing else")
	f.StringVar(&w.Name, "name", "", "in logs and lists (default: the host's name); on record is the token's")
	f.StringVar(&w.Group, "group", "", "take the tasks of this group, too")
	f.IntVar(&w.Concurrency, "at-once", 1, "how many tasks are handled at once")
	w.drain, w.grace = env.Span(30*time.Second), env.Span(5*time.Second)
	f.Var(&w.drain, "drain", "how long commands may go on when the worker is to end")
	f.Var(&w.grace, "grace", "between SIGTERM and SIGKILL of a command")
	w.log.Add(f, "info")
	if e.OpenLink != nil {
		w.nats.Add(f)
	}
	cmd.AddCommand(workerList(e))
	return cmd
}

// work handles tasks until ctx ends.
func work(ctx context.Context, e *env.Env, f *workerFlags) error {
	log, err := f.log.Logger(e.Err)
	if err != nil {
		return err
	}
	e.WarnOfSettings(log)
	programs, err := f.programs(log)
	if err != nil {
		return err
	}
	engine, at, leave, err := connect(ctx, e, f, log)
	if err != nil || engine == nil {
		return err
	}
	defer leave()
	f.Logger, f.DrainTimeout = log, time.Duration(f.drain)
	w, err := worker.New(engine, &f.Options)
	if err != nil {
		return err
	}
	for name, p := range programs {
		w.HandleFunc(name, logged(p.Handle, log))
	}
	names := slices.Sorted(maps.Keys(programs))
	ready := map[string]any{"server": at, "tasks": names, "group": f.Group, "atOnce": f.Concurrency}
	if err := e.Answer(ready, func() { e.Line("handling %s of %s", strings.Join(names, ", "), at) }); err != nil {
		return err
	}
	return ourHint(e, w.Run(ctx))
}

// ourHint says of a token that the server refuses what helps on this command line. The server's hint is
// for whoever sends requests by hand.
func ourHint(e *env.Env, err error) error {
	refused, ok := errors.AsType[*posthouse.Error](err)
	if !ok || refused.Code != problem.CodeUnauthenticated {
		return err
	}
	token, other := e.Token()
	if other != nil {
		return err
	}
	said := *refused
	said.Hint = e.Refused(token)
	return &said
}

// connect returns the engine that the worker talks to, and where it is. It is nil if ctx ends
// before there is a connection.
func connect(ctx context.Context, e *env.Env, f *workerFlags, log *slog.Logger) (engine task.Engine, at string, leave func(), err error) {
	leave = func() {}
	o := f.nats.Link()
	if o.URL == "" {
		token, err := e.Token()
		if err != nil {
			return nil, "", leave, err
		}
		engine, err = httptask.NewEngine(e.Server, token, nil)
		return engine, e.Server, leave, err
	}
	o.Logger = log
	o.Worker = f.Name
	if o.Credentials == "" {
		o.Token, err = e.OtherToken(onlyHere(o.URL))
		if err != nil {
			return nil, "", leave, err
		}
	}
	for {
		l, err := e.OpenLink(ctx, o)
		switch {
		case err == nil:
			engine, err = l.Engine()
			return engine, l.Address(), func() { _ = l.Close() }, err
		case ctx.Err() != nil:
			return nil, "", leave, nil
		case !errors.Is(err, posthouse.ErrUnavailable):
			return nil, "", leave, NameFlag(err)
		}
		log.Warn("cannot connect", "error", err)
		select {
		case <-time.After(connectAgain):
		case <-ctx.Done():
		}
	}
}

// connectAgain is how long a worker waits for a server that does not answer.
const connectAgain = time.Second

// onlyHere reports whether all servers of a URL are this machine's.
func onlyHere(url string) bool {
	servers, _, _ := strings.Cut(url, "?")
	for one := range strings.SplitSeq(servers, ",") {
		if _, host, ok := strings.Cut(one, "://"); ok {
			one = host
		}
		if !client.Local("nats://" + one) {
			return false
		}
	}
	return true
}

// programs are what handles tasks, by their name.
func (f *workerFlags) programs(log *slog.Logger) (map[string]*command.Program, error) {
	all := map[string]*command.Program{}
	for _, c := range f.commands {
		name, line, _ := strings.Cut(c, "=")
		argv := strings.Fields(line)
		if name == "" || len(argv) == 0 {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "task", Message: fmt.Sprintf("%.80q is not NAME=COMMAND", c), Hint: `write it as --task resize="python3 resize.py"`}
		}
		if all[name] != nil {
			return nil, posthouse.Invalid("task", "%.80q is given twice", name)
		}
		p, err := command.New(argv, &command.Options{Plain: f.plain, DrainTimeout: time.Duration(f.grace), Logger: log})
		if err != nil {
			var e *posthouse.Error
			if errors.As(err, &e) && e.Field == "argv" {
				e.Field = "task"
			}
			return nil, err
		}
		all[name] = p
	}
	if len(all) == 0 {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "task", Message: "is required", Hint: `write it as --task resize="python3 resize.py"`}
	}
	return all, nil
}

// logged writes a line for each execution.
func logged(handle worker.Handler, log *slog.Logger) worker.Handler {
	return func(t worker.Task) error {
		err := handle(t)
		attrs := []any{"task", t.TaskName(), "thread", t.RunID(), "attempt", t.Attempt()}
		if err != nil {
			log.Warn("the attempt failed", append(attrs, "error", err)...)
		} else {
			log.Info("handled", attrs...)
		}
		return err
	}
}
