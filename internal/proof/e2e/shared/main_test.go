//go:build unix

package shared

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/all"
)

// childEnv is set to a config, as JSON: this process is one of those on the store.
const childEnv = "POSTHOUSE_E2E_SHARED"

// A config says what one process does.
type config struct {
	Name    string // of the process
	Store   string // URL
	Dir     string // its own data directory
	Control string // address of the test; "": it runs no programs
}

func TestMain(m *testing.M) {
	site.Serving()
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if at := os.Getenv(cronEnv); at != "" {
		fmt.Fprintln(os.Stderr, lostJob(at))
		os.Exit(1)
	}
	goleak.VerifyTestMain(redistest.Main(pgtest.Main(m)))
}

// child serves until its standard input ends, which is when the test's process does.
func child(text string) error {
	var c config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	o := &app.Options{
		Dir: c.Dir, Store: c.Store, Addr: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})).With("process", c.Name),
		Ready:  func(i *app.Info) { fmt.Printf("%s %s\n", i.URL, i.TokenFile) },
	}
	o.Programs.OpenStore = all.Open
	if c.Control != "" {
		o.Programs.Open = func(_ context.Context, env *app.Env) (*app.Set, error) {
			walk, err := walkGraph(&c).Compile(env.Ledger, nil)
			if err != nil {
				return nil, err
			}
			return &app.Set{
				Programs: []posthouse.Program{walk},
				Agents: map[string]server.Agent{
					"walk":    app.GraphAgent[trail](env, walk, func(string) (trail, error) { return trail{}, nil }),
					"cashier": cashier{c.Name},
				},
			}, nil
		}
	}
	return app.Serve(ctx, o)
}

// A trail is the state: which process did which step.
type trail struct {
	Did []string `posthouse:"append"`
}

// walkGraph takes a step, asks, and takes another. Each step tells the test, and goes on
// when that says so.
func walkGraph(c *config) *graph.Graph[trail] {
	g := graph.New[trail]("walk")
	slow := func(name string) func(context.Context, *trail) error {
		return func(ctx context.Context, s *trail) error {
			by, err := step.Do(ctx, name, func(ctx context.Context) (string, error) { return c.Name, c.tell(report{Step: name, Begins: true}) })
			if tells := c.tell(report{Step: name, Code: codeOf(err)}); tells != nil {
				return tells
			}
			if err != nil {
				return err
			}
			s.Did = append(s.Did, name+" by "+by)
			return nil
		}
	}
	g.Node("first", slow("first"))
	g.Node("ask", func(ctx context.Context, _ *trail) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "on"})
		return err
	})
	g.Node("last", slow("last"))
	g.Edge(graph.Start, "first")
	g.Edge("first", "ask")
	g.Edge("ask", "last")
	g.Edge("last", graph.End)
	return g
}

func codeOf(err error) string {
	var e *posthouse.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return string(e.Code)
	}
	return err.Error()
}

// A report is what a process tells the test of a step: that it begins, or what came of it.
type report struct {
	Process, Step string
	Begins        bool
	Code          string // of the error that the step ended with; "": it is on record

	conn net.Conn
}

// tell sends a report. Of a step that begins it waits for the answer.
func (c *config) tell(r report) error {
	conn, err := net.Dial("tcp", c.Control)
	if err != nil {
		return err
	}
	defer conn.Close()
	r.Process = c.Name
	if err := json.NewEncoder(conn).Encode(r); err != nil || !r.Begins {
		return err
	}
	_, err = bufio.NewReader(conn).ReadByte()
	return err
}
