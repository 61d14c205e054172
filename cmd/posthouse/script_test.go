package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/cmd/posthouse/sample"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
)

func TestMain(m *testing.M) {
	testscript.Main(redistest.Main(pgtest.Main(m)), map[string]func(){"posthouse": main})
}

// TestScript runs the walks in testdata/script. Each has a server of its own,
// in this process, on a data directory of its own.
func TestScript(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() { // one command at a time, in processes of their own
		scripts = []string{"testdata/script/walk.txtar"}
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"value": value,
			"exits": exits,
			"stop": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(ts.Value(serverKey{}).(*scriptServer).stop())
			},
		},
	})
}

type serverKey struct{}

// A scriptServer is the dev server of one script.
type scriptServer struct {
	cancel context.CancelFunc
	done   chan error
}

func (s *scriptServer) stop() error {
	s.cancel()
	err := <-s.done
	s.done <- nil // for the next to ask
	return err
}

func setUp(env *testscript.Env) error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &scriptServer{cancel, make(chan error, 1)}
	ready := make(chan *app.Info, 1)
	p := sample.Programs("")
	p.Open = p.Dev.Open
	dir := filepath.Join(env.WorkDir, "data")
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)
	o := &app.Options{
		Programs: p, Dir: dir, Addr: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), LogLevel: level,
		Ready: func(i *app.Info) { ready <- i },
	}
	go func() { s.done <- app.Serve(ctx, o) }()
	select {
	case info := <-ready:
		env.Setenv("POSTHOUSE_SERVER", info.URL)
	case err := <-s.done:
		cancel()
		return err
	}
	env.Defer(func() {
		if err := s.stop(); err != nil {
			env.T().Log("the server ended with", err)
		}
	})
	env.Values[serverKey{}] = s
	env.Setenv("POSTHOUSE_DATA_DIR", dir)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("NO_COLOR", "1")
	return nil
}

// value takes a value out of the last command's JSON: value NAME PATH, with
// dots between members and numbers for elements.
func value(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: value NAME PATH")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for _, step := range strings.Split(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i, err := strconv.Atoi(step)
			ts.Check(err)
			if i >= len(x) {
				ts.Fatalf("%s: there are %d elements", args[1], len(x))
			}
			v = x[i]
		default:
			v = nil
		}
	}
	if v == nil {
		ts.Fatalf("%s is not in the answer", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// exits runs posthouse and checks its exit code: exits 4 approve ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGUMENT...")
	}
	err := ts.Exec("posthouse", args[1:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
