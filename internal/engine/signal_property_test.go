package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestQueueOnEveryLineage sends, runs, crashes, restarts, forks and cancels
// waits at random. Whatever happens, what a lineage has taken is what was sent,
// each once and in order, and a branch that is parked has taken all of it.
func TestQueueOnEveryLineage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &queueMachine{t: t, store: memstore.New()}
		m.open()
		s, err := session.Begin(context.Background(), m.l, session.Options{Thread: "t1"})
		m.ok(err)
		m.finish(s, nil, posthouse.KindInput)
		m.ok(s.End(context.Background()))
		m.branches = []string{posthouse.MainBranch}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) { m.send() },
			"run": func(t *rapid.T) {
				m.run(rapid.SampledFrom(m.branches).Draw(t, "branch"), rapid.IntRange(0, 6).Draw(t, "takes"))
			},
			"restart": func(*rapid.T) { m.open() },
			"fork":    m.fork,
			"":        func(*rapid.T) {},
		})
		for _, b := range m.branches {
			m.run(b, 1000)
		}
	})
}

type queueMachine struct {
	t        *rapid.T
	store    *memstore.Store
	l        *ledger.Ledger
	sent     []string
	branches []string
	points   []posthouse.ID // checkpoints to fork from
}

func (m *queueMachine) ok(err error) {
	if err != nil {
		m.t.Helper()
		m.t.Fatal(err)
	}
}

// open is a process that starts: the one before is gone, whatever it was doing.
func (m *queueMachine) open() {
	var err error
	m.l, err = ledger.Open(m.store, &ledger.Options{Owner: "one"})
	m.ok(err)
}

func (m *queueMachine) send() {
	v := fmt.Sprint(len(m.sent))
	_, err := m.l.Signal(context.Background(), "t1", posthouse.Signal{Name: "q", Value: json.RawMessage(v)})
	m.ok(err)
	m.sent = append(m.sent, v)
}

// run goes on with a branch: the node takes up to three signals and ends, and is
// run again, until nothing is left to take or the process dies after so many.
func (m *queueMachine) run(branch string, takes int) {
	ctx := context.Background()
	s, err := session.Begin(ctx, m.l, session.Options{Thread: "t1", Branch: branch})
	m.ok(err)
	for {
		done := m.taken(s)
		tk, err := engine.TaskWithKey(ctx, s, s.Key("node"), false)
		m.ok(err)
		for range 3 {
			if takes == 0 {
				m.open() // dies here
				return
			}
			v, err := tk.Signal(ctx, "q", false, 0)
			if errors.Is(err, posthouse.ErrWaiting) {
				m.park(s, tk, done)
				m.ok(s.End(ctx))
				return
			}
			m.ok(err)
			done = append(done, string(v))
			if want := m.sent[:min(len(done), len(m.sent))]; !slices.Equal(done, want) {
				m.t.Fatalf("branch %s took %v; sent were %v", branch, done, m.sent)
			}
			takes--
		}
		m.finish(s, done, posthouse.KindNode)
	}
}

// park commits the wait if it is not on record, and goes on at once if a signal
// came in between.
func (m *queueMachine) park(s *session.Session, tk *engine.Task, done []string) {
	if !slices.Equal(done, m.sent) {
		m.t.Fatalf("branch %s waits with %v; sent were %v", s.Branch(), done, m.sent)
	}
	if len(tk.Gates().New()) == 0 {
		return
	}
	if len(m.sent)%5 == 4 {
		m.send() // just before the commit
	}
	c, err := s.Commit(context.Background(), &ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"node"}},
		Gates:      tk.Gates().New(),
	})
	m.ok(err)
	m.points = append(m.points, c.Checkpoint.ID)
	if answered := len(m.sent) > len(done); answered != (c.Checkpoint.Status == posthouse.StatusReady) {
		m.t.Fatalf("parked as %s with %d of %d", c.Checkpoint.Status, len(done), len(m.sent))
	}
}

func (m *queueMachine) finish(s *session.Session, done []string, kind string) {
	c, err := s.Commit(context.Background(), &ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: kind, Status: posthouse.StatusRunning, Next: []string{"node"},
		State: posthouse.State{"taken": {Codec: "raw", Data: []byte(strings.Join(done, " "))}},
	}})
	m.ok(err)
	m.points = append(m.points, c.Checkpoint.ID)
}

// taken is what the branch's finished nodes took.
func (m *queueMachine) taken(s *session.Session) []string {
	c, err := m.l.Get(context.Background(), s.Head().ID)
	m.ok(err)
	return strings.Fields(string(c.State["taken"].Data))
}

func (m *queueMachine) fork(t *rapid.T) {
	if len(m.branches) > 8 {
		return
	}
	c, err := m.l.Fork(context.Background(), rapid.SampledFrom(m.points).Draw(t, "point"), nil)
	m.ok(err)
	m.branches = append(m.branches, c.Branch)
	m.points = append(m.points, c.ID)
}
