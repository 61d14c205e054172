package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// A conflicting program answers each call with a conflict, and does nothing.
type conflicting struct{ posthouse.Program }

func (conflicting) Advance(context.Context, string, string) error { return errConflict }

var errConflict = &posthouse.Error{Code: posthouse.CodeConflict, Message: "it will not go away"}

// A conflict means that somebody else has the thread only where the thread went
// on: a failure that matches it is told like any other.
func TestConflictThatStaysIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(p *program) posthouse.Program
		want string
	}{
		"of a thread that stands still": {func(p *program) posthouse.Program { return conflicting{p} }, "cannot go on with a thread; trying again"},
		"of a node that failed":         {func(p *program) posthouse.Program { return p }, "a run failed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, memstore.New(), "")
				p := &program{name: "p", l: l, last: 1, node: func(context.Context, string, int) error { return errConflict }}
				p.start(t, "t")
				var log bytes.Buffer
				run(t, l, runner.Options{Programs: []posthouse.Program{c.of(p)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				waitIdle()
				if have := log.String(); !strings.Contains(have, c.want) || !strings.Contains(have, "it will not go away") {
					t.Fatalf("the log says %q", have)
				}
			})
		})
	}
}

// endsWithError is a program with runs that end with an error after their last commit.
type endsWithError struct{ *program }

// Advance implements [posthouse.Program].
func (p endsWithError) Advance(ctx context.Context, thread, branch string) error {
	return errors.Join(p.program.Advance(ctx, thread, branch), errors.New("the store does not answer"))
}

// TestErrorAfterTheLastCheckpoint reads the log of a thread that is done: it has not failed,
// and need not be resumed.
func TestErrorAfterTheLastCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		p := &program{name: "p", l: l, last: 1, node: func(context.Context, string, int) error { return nil }}
		p.start(t, "t")
		var log bytes.Buffer
		run(t, l, runner.Options{Programs: []posthouse.Program{endsWithError{p}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		waitIdle()
		have := log.String()
		if strings.Contains(have, "a run failed") || !strings.Contains(have, "the thread is done") || !strings.Contains(have, "the store does not answer") {
			t.Fatalf("the log of a thread that is %s says %q", status(t, l, "t"), have)
		}
	})
}
