package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestFlippedBytes flips random bytes anywhere in a database file, one at a
// time. Each must be found by verify or by the engine, or change no answer.
func TestFlippedBytes(t *testing.T) {
	flips := 1500
	if testing.Short() {
		flips = 30
	}
	path, ring := sampleStore(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := answers(t.Context(), path, ring)
	if err != nil {
		t.Fatal(err)
	}
	const seed = 20261121
	r := rand.New(rand.NewPCG(seed, 0))
	var faults, engine, same int
	for range flips {
		at, bit := r.IntN(len(whole)), byte(1)<<r.IntN(8)
		copied := filepath.Join(t.TempDir(), "flipped.db")
		data := append([]byte(nil), whole...)
		data[at] ^= bit
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, report, err := answers(t.Context(), copied, ring)
		switch {
		case err != nil:
			if !told(err) {
				t.Errorf("byte %d, bit %#x: an error that is not one of ours: %v", at, bit, err)
			}
			engine++
		case !report.OK():
			faults++
		case !reflect.DeepEqual(got, want):
			t.Errorf("byte %d, bit %#x: verify says ok, and yet the store answers otherwise", at, bit)
		default:
			same++
		}
	}
	t.Logf("of %d flips over %d bytes verify named %d, the engine refused %d, %d changed nothing", flips, len(whole), faults, engine, same)
	if faults == 0 {
		t.Error("verify found nothing")
	}
}

// told reports whether an error has a code, as every failure of the store must.
func told(err error) bool {
	var e *posthouse.Error
	return errors.As(err, &e)
}

// sampleStore makes a closed store with threads, a fork, gates, decisions,
// steps and a removal.
func sampleStore(t *testing.T) (path string, ring *sign.Ring) {
	t.Helper()
	ctx := t.Context()
	path = filepath.Join(t.TempDir(), "sample.db")
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.Generate()
	if err != nil {
		t.Fatal(err)
	}
	ring, err = sign.NewRing(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(store, &ledger.Options{Signer: key})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		runChat(t, l, fmt.Sprintf("chat-%d", i), 8)
	}
	decideSome(t, l)
	if err := errors.Join(l.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	return path, ring
}

type chatState struct {
	Messages []string `posthouse:"append"`
	Turn     int
}

func runChat(t *testing.T, l *ledger.Ledger, thread string, turns int) {
	t.Helper()
	g := graph.New[chatState]("chat")
	g.Node("turn", func(ctx context.Context, s *chatState) error {
		m, err := step.Do(ctx, "llm", func(context.Context) (string, error) {
			return fmt.Sprintf("message %d of %s, with a text of some length to be hashed and kept", s.Turn, thread), nil
		})
		s.Messages, s.Turn = append(s.Messages, m), s.Turn+1
		return err
	})
	g.Edge(graph.Start, "turn")
	g.Route("turn", func(s *chatState) string {
		if s.Turn < turns {
			return "turn"
		}
		return graph.End
	}, "turn", graph.End)
	app, err := g.Compile(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Run(t.Context(), thread, chatState{}); err != nil {
		t.Fatal(err)
	}
}

// decideSome leaves an open gate, a decided one, a fork and a removal.
func decideSome(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	var first posthouse.ID
	for _, thread := range []string{"asks-1", "asks-2"} {
		c, err := l.Commit(ctx, &ledger.Draft{
			Thread: thread,
			Checkpoint: &posthouse.Change{
				Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "g", Next: []string{"n"},
				State: posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte("what is asked about")}},
			},
			Gates: []posthouse.Gate{{Name: "go-on", Text: "Go on?"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = c.Checkpoint.ID
			if _, err := l.Decide(ctx, c.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fork, err := l.Fork(ctx, first, &ledger.ForkOptions{Branch: "what-if"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fork(ctx, first, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := retain.Delete(ctx, l, fork.ID, nil); err != nil {
		t.Fatal(err)
	}
}

// answers is everything a user can ask of the store, and what verify says.
func answers(ctx context.Context, path string, ring *sign.Ring) (all map[string]string, report *sign.Report, err error) {
	store, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report, err = sign.Verify(ctx, store, ring, nil)
	if err != nil || !report.OK() {
		return nil, report, err
	}
	l, err := ledger.Open(store, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	all = map[string]string{}
	keep := func(key string, v any) error {
		data, err := json.Marshal(v)
		all[key] = string(data)
		return err
	}
	for c, err := range l.ListStates(ctx, posthouse.Query{}) {
		if err == nil {
			err = keep("checkpoint "+string(c.ID), c)
		}
		if err != nil {
			return nil, report, err
		}
	}
	for th, err := range l.Threads(ctx, posthouse.ThreadQuery{}) {
		if err == nil {
			err = keep("thread "+th.Thread, th)
		}
		if err != nil {
			return nil, report, err
		}
	}
	for g, err := range l.Gates(ctx, ledger.GateQuery{}) {
		if err == nil {
			err = keep("gate "+string(g.ID), g)
		}
		if err != nil {
			return nil, report, err
		}
	}
	return all, report, nil
}
