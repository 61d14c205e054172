package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posthouse/posthouse/cmd/posthouse/internal/term"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"posthouse": main}) }

// TestScript runs the walks in testdata/script. Each has a server of its own,
// in this process, on a data directory of its own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
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
	a := &app{env: func(string) string { return "" }, dataDir: filepath.Join(env.WorkDir, "data")}
	a.Term = term.Term{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: os.Stderr}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := a.open(ctx, &serving{addr: "127.0.0.1:0", logLevel: "error", sample: true})
	if err != nil {
		cancel()
		return err
	}
	s := &scriptServer{cancel, make(chan error, 1)}
	go func() { s.done <- r.run(ctx) }()
	env.Defer(func() {
		if err := s.stop(); err != nil {
			env.T().Log("the server ended with", err)
		}
	})
	env.Values[serverKey{}] = s
	env.Setenv("POSTHOUSE_SERVER", r.url)
	env.Setenv("POSTHOUSE_DATA_DIR", a.dataDir)
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
