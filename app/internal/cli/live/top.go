package live

import (
	"bytes"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

const (
	inSection  = 8   // rows of a section
	mostInTop  = 100 // things of a section that are counted
	leastEvery = 200 * time.Millisecond
)

// A section is what top shows of one kind: the newest, and how many there are.
type section[T any] struct {
	Count int  `json:"count"`          // at most 100
	More  bool `json:"more,omitempty"` // there are more than that
	Items []T  `json:"items"`          // at most 8
}

// A picture is what top shows at one time.
type picture struct {
	At      time.Time               `json:"at"`
	Waiting section[*server.Gate]   `json:"waiting"` // questions that people are asked
	Running section[*server.Thread] `json:"running"`
	Failed  section[*server.Thread] `json:"failed"`
}

// Top returns the command top.
func Top(e *env.Env) *cobra.Command {
	every := env.Span(2 * time.Second)
	once := false
	cmd := &cobra.Command{
		Use: "top", Short: "Show what waits, runs and has failed, again and again",
		Long: `Show what waits, runs and has failed: the newest of each, and how many there are, up
to 100. At a terminal it shows them again every 2 s until it is interrupted; in a pipe,
once. As JSON each time is a line.`,
		Example: `  posthouse top
  posthouse top --every 10s
  posthouse top --once -o json`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			if time.Duration(every) < leastEvery {
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "every", Message: "is shorter than 200ms"}
			}
			return top(ctx, e, c, time.Duration(every), once || e.Columns == 0 && !e.Structured())
		}),
	}
	f := cmd.Flags()
	f.Var(&every, "every", "how long to wait before it is shown again")
	f.BoolVar(&once, "once", false, "show it once")
	return cmd
}

// top shows a picture, and further ones until ctx ends.
func top(ctx context.Context, e *env.Env, c *client.Client, every time.Duration, once bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		p, err := look(ctx, c)
		if err != nil {
			return err
		}
		if e.Structured() {
			err = e.EncodeOne(p)
		} else {
			err = show(&e.Term, p, once)
		}
		if err != nil || once {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look reads a picture.
func look(ctx context.Context, c *client.Client) (*picture, error) {
	p := &picture{At: time.Now().UTC().Truncate(time.Second)}
	for _, read := range []func() error{
		func() error { return p.Waiting.read(ctx, c, "/api/gates", nil) },
		func() error {
			return p.Running.read(ctx, c, "/api/threads", env.Params("status", string(posthouse.StatusRunning)))
		},
		func() error {
			return p.Failed.read(ctx, c, "/api/threads", env.Params("status", string(posthouse.StatusFailed)))
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (s *section[T]) read(ctx context.Context, c *client.Client, path string, q url.Values) (err error) {
	s.Items, s.More, err = env.UpTo[T](ctx, c, path, q, mostInTop)
	s.Count = len(s.Items)
	s.Items = s.Items[:min(s.Count, inSection)]
	return err
}

// title says how many there are.
func (s *section[T]) title(name string) string {
	n := strconv.Itoa(s.Count)
	if s.More {
		n += " or more"
	}
	return name + ": " + n
}

// wipe moves to the top left of a terminal and empties it.
const wipe = "\x1b[H\x1b[2J"

// show prints a picture in one write, so that it does not flicker.
func show(out *term.Term, p *picture, once bool) error {
	var b bytes.Buffer
	at := *out
	at.Out = &b
	if !once {
		b.WriteString(wipe)
	}
	at.Line("%s", tree.Time(p.At))
	at.Line("\n%s", at.Paint(term.Loud, p.Waiting.title("waiting for people")))
	rows := [][]string{}
	for _, g := range p.Waiting.Items {
		text := g.Name
		if g.Text != "" {
			text += ": " + g.Text
		}
		if g.Error != nil {
			text = env.CannotBeRead(g.Error)
		}
		rows = append(rows, []string{string(g.ID), text, strings.Join(g.Assignees, ", "), age(p.At, g.CreatedAt), g.Thread})
	}
	at.Table([]string{"GATE", "QUESTION", "ASSIGNEES", "FOR", "THREAD"}, rows)
	for _, s := range []struct {
		title string
		of    *section[*server.Thread]
	}{{"running", &p.Running}, {"failed", &p.Failed}} {
		at.Line("\n%s", at.Paint(term.Loud, s.of.title(s.title)))
		rows = nil
		for _, t := range s.of.Items {
			rows = append(rows, []string{t.Thread, t.Graph, age(p.At, t.UpdatedAt), strconv.Itoa(t.Checkpoints)})
		}
		at.Table([]string{"THREAD", "PROGRAM", "FOR", "CHECKPOINTS"}, rows)
	}
	_, err := out.Out.Write(b.Bytes())
	return err
}

// age returns how long ago a time was, in its largest unit or two.
func age(now, then time.Time) string {
	d := max(now.Sub(then), 0)
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}
