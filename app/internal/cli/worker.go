package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
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
	drain    span // how long commands may go on when the worker is to end
	grace    span // between SIGTERM and SIGKILL
	logLevel string
}

func (a *app) workerCmd() *cobra.Command {
	var w workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Handle tasks with commands, in any language",
		Long: `Handle tasks with commands, in any language.

Each execution of a task runs the command that --task gives for its name. The
command is split at spaces, and no shell sees it. It reads the task as one line of
JSON, prints requests as lines of JSON, and reads an answer to each: docs/workers.md
has the protocol. With --plain it reads the input and prints the output instead.

The worker needs a token of the role worker. On SIGTERM it takes no more tasks,
lets commands go on for the time of --drain, and gives back what they leave.`,
		Example: `  posthouse worker --task resize="python3 resize.py"
  posthouse worker --server https://posthouse.example --token-file gpu-1.token --group gpu --at-once 4 --task resize=./resize --task crop=./crop
  posthouse worker list`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), &w) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&w.commands, "task", nil, "NAME=COMMAND: what handles the tasks of a name; repeat for more (required)")
	f.BoolVar(&w.plain, "plain", false, "the commands read the input and print the output, and nothing else")
	f.StringVar(&w.Name, "name", "", "in logs and on record (default: the host's name)")
	f.StringVar(&w.Group, "group", "", "take the tasks of this group, too")
	f.IntVar(&w.AtOnce, "at-once", 1, "how many tasks are handled at once")
	w.drain, w.grace = span(30*time.Second), span(5*time.Second)
	f.Var(&w.drain, "drain", "how long commands may go on when the worker is to end")
	f.Var(&w.grace, "grace", "between SIGTERM and SIGKILL of a command")
	f.StringVar(&w.logLevel, "log-level", "info", "debug, info, warn or error; goes to standard error")
	cmd.AddCommand(a.workerList())
	return cmd
}

// work handles tasks until ctx ends.
func (a *app) work(ctx context.Context, f *workerFlags) error {
	log, err := a.logger(f.logLevel)
	if err != nil {
		return err
	}
	programs, err := f.programs(log)
	if err != nil {
		return err
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	engine, err := httptask.NewEngine(a.server, token, nil)
	if err != nil {
		return err
	}
	f.Logger, f.Grace = log, time.Duration(f.drain)
	w, err := worker.New(engine, &f.Options)
	if err != nil {
		return err
	}
	for name, p := range programs {
		w.HandleFunc(name, logged(p.Handle, log))
	}
	names := slices.Sorted(maps.Keys(programs))
	ready := map[string]any{"server": a.server, "tasks": names, "group": f.Group, "atOnce": f.AtOnce}
	if err := a.answer(ready, func() { a.Line("handling %s of %s", strings.Join(names, ", "), a.server) }); err != nil {
		return err
	}
	return w.Run(ctx)
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
		p, err := command.New(argv, &command.Options{Plain: f.plain, Grace: time.Duration(f.grace), Logger: log})
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

// workerList lists the workers of a server.
func (a *app) workerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the workers that talk to a server",
		Example: `  posthouse worker list`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, _ []string) error {
			return get(ctx, a, c, "/api/workers", nil, func(workers *[]task.WorkerInfo) {
				if len(*workers) == 0 {
					a.Line("no worker talks to this server")
					return
				}
				var rows [][]string
				for _, w := range *workers {
					rows = append(rows, []string{
						w.Worker, w.Group, term.Clip(strings.Join(w.Tasks, ", "), 60), strconv.Itoa(len(w.Claims)) + " of " + strconv.Itoa(w.AtOnce), tree.Time(w.Heard), w.Session,
					})
				}
				a.Table([]string{"WORKER", "GROUP", "HANDLERS", "TASKS", "HEARD", "SESSION"}, rows)
			})
		}),
	}
}
