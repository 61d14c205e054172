package live

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
)

// A watching is a run of watch.
type watching struct {
	env   *env.Env
	kinds []string // of records; an empty list is all
	after string
	limit int // events to print; 0 is no end

	thread string // "" is every one
	seq    uint64 // entries up to this are passed over
}

// Watch returns the command watch.
func Watch(e *env.Env) *cobra.Command {
	w := watching{env: e}
	cmd := &cobra.Command{
		Use: "watch [THREAD]", Short: "Print what is recorded, as it happens",
		Long: `Print what is recorded, as it happens: in all threads, or in one.

It goes on until it is interrupted, or has printed --limit events. When the server restarts it
goes on where it was. As JSON each event is a line, with a cursor that --after takes:
what happened since is printed first. With --after start it begins with the oldest event.`,
		Example: `  posthouse watch
  posthouse watch order-1234 --kind gate,decision
  posthouse watch --kind gate -o jsonl | jq -r .gate.text`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			if len(args) > 0 {
				w.thread = args[0]
			}
			f, err := w.follow(ctx, c)
			if err != nil {
				return err
			}
			return w.run(ctx, f)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&w.kinds, "kind", nil, "only of these kinds of records, as gate,decision,checkpoint")
	f.StringVar(&w.after, "after", "now", "a cursor, now, or start")
	f.IntVar(&w.limit, "limit", 0, "end after so many events; 0 goes on")
	env.Choices(cmd, "kind", kinds())
	return cmd
}

// kinds returns the kinds of events.
func kinds() (names []string) {
	for k := posthouse.RecordKind(0); k < 64; k++ {
		if name := k.String(); name != "unknown" {
			names = append(names, name)
		}
	}
	return append(names, "message", "custom")
}

func (w *watching) check() error {
	for _, k := range w.kinds {
		if !slices.Contains(kinds(), k) {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "kind", Message: "is no kind of event: " + k, Hint: "the kinds are " + strings.Join(kinds(), ", ")}
		}
	}
	if w.limit < 0 {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "limit", Message: "is negative", Hint: "0 goes on"}
	}
	return nil
}

func (w *watching) follow(ctx context.Context, c *client.Client) (*client.Follower, error) {
	return c.Follow(ctx, &client.EventQuery{Thread: w.thread, After: w.after, Away: func() {
		w.env.Note("the server is away; going on when it is back")
	}})
}

// run prints events until there are enough, or ctx ends.
func (w *watching) run(ctx context.Context, f *client.Follower) error {
	n := 0
	for ev, err := range f.Events(ctx) {
		if err != nil && ev != nil {
			w.env.Note("an entry cannot be read: %s", err.Error())
			continue
		}
		if err != nil {
			return err
		}
		printed, err := w.event(ev)
		if err != nil {
			return err
		}
		if printed {
			n++
		}
		if w.limit > 0 && n == w.limit {
			return nil
		}
	}
	return nil
}

// event prints an event, unless it is not asked for.
func (w *watching) event(ev *client.Event) (printed bool, err error) {
	e, rec := w.env, ev.Record()
	switch {
	case len(w.kinds) > 0 && !slices.Contains(w.kinds, ev.Kind), rec != nil && ev.Seq <= w.seq && w.thread != "":
		return false, nil
	case e.Structured():
		return true, e.EncodeOne(ev)
	case rec != nil:
		e.Line("%s  %s  %s", tree.Time(ev.At), ev.Thread, tree.EventLine(rec))
	case ev.Message != nil:
		e.Line("%s  %s", ev.Thread, ev.Message.Text)
	case ev.Custom != nil:
		e.Line("%s  %s", ev.Thread, string(ev.Custom.Value))
	default:
		return false, nil
	}
	return true, nil
}

// Follow begins to follow a thread, and returns what goes on with it: it prints entries after
// the one of a number, until ctx ends.
func Follow(ctx context.Context, e *env.Env, c *client.Client, thread string) (goOn func(ctx context.Context, seq uint64) error, err error) {
	w := &watching{env: e, thread: thread, after: "now"}
	f, err := w.follow(ctx, c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, seq uint64) error {
		w.seq = seq
		return w.run(ctx, f)
	}, nil
}
