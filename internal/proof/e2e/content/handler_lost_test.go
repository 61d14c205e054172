package content_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
	"github.com/posthouse/posthouse/worker"
)

// inBubbles runs a test over memory and over SQLite, in fake time, where the ledger asks for grants.
func inBubbles(t *testing.T, test func(k *desk)) {
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				h := &house{T: t, store: memStore(), clock: time.Now, grants: true}
				if name == "sqlite" {
					s, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "posthouse.db"), nil)
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					h.store = s
				}
				h.restart()
				k := h.desk()
				defer k.stop()
				test(k)
			})
		})
	}
}

// A cutLine is a worker's connection, which may be cut.
type cutLine struct {
	task.Engine
	cut atomic.Bool
}

func (l *cutLine) down() error {
	if !l.cut.Load() {
		return nil
	}
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the line is cut"}
}

func (l *cutLine) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	if err := l.down(); err != nil {
		return nil, err
	}
	return l.Engine.Connect(ctx, h)
}

func (l *cutLine) Claim(ctx context.Context, session string) (*task.Claim, error) {
	if err := l.down(); err != nil {
		return nil, err
	}
	return l.Engine.Claim(ctx, session)
}

func (l *cutLine) Heartbeat(ctx context.Context, session string, have []task.ClaimID) (*task.Pulse, error) {
	if err := l.down(); err != nil {
		return nil, err
	}
	return l.Engine.Heartbeat(ctx, session, have)
}

func (l *cutLine) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Engine.End(ctx, id, n)
}

func (l *cutLine) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Engine.Resolve(ctx, id, v)
}

func (l *cutLine) Disconnect(ctx context.Context, session string) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Engine.Disconnect(ctx, session)
}

// A losingBank loses its first payment in one of the ways in which a worker does.
type losingBank struct {
	line *cutLine
	way  string

	mu   sync.Mutex
	paid map[posthouse.ID]int // by grant
	keys map[string]posthouse.ID
	lost posthouse.ID // the grant of the first
}

// pay makes a payment.
func (b *losingBank) pay(ctx context.Context, t bankTransfer) (string, error) {
	grant, key := gate.Granted(ctx).ID, step.Key(ctx)
	b.mu.Lock()
	b.paid[grant]++
	b.keys[key] = grant
	first := b.lost == ""
	if first {
		b.lost = grant
	}
	b.mu.Unlock()
	if !first {
		return fmt.Sprintf("paid %d to %s", t.Amount, t.To), nil
	}
	switch b.way {
	case "silence":
		b.line.cut.Store(true)
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "silence, and it goes on":
		b.line.cut.Store(true)
		<-time.After(3 * time.Minute)
		b.line.cut.Store(false)
	case "timeout":
		<-ctx.Done()
		return "", ctx.Err()
	case "timeout, and it goes on":
		<-time.After(3 * time.Minute)
	case "timeout, with an error of its own":
		<-ctx.Done()
		return "", errors.New("the bank did not answer")
	case "panic":
		panic("after the payment")
	case "it cannot tell":
		return "", fmt.Errorf("the answer is lost: %w", posthouse.ErrUnknown)
	case "its result is too large":
		return strings.Repeat("x", task.MaxStep), nil
	}
	return "paid", nil
}

// TestAttemptToPayAgainAfterALostHandler: a worker is lost in the middle of its handler's effect. The
// outcome is unknown, and nothing but a person's word has it paid again under that decision: not the
// next attempt, a retry of the task, a fork, a fork to a thread, a copy, a
// replay or a step that begins again. Each of these proposes the payment, or asks what became of it.
func TestAttemptToPayAgainAfterALostHandler(t *testing.T) {
	for _, c := range []struct {
		way      string
		attempts int // of the task: with one it fails, and so does its run
	}{
		{"silence", 1}, {"silence", 5}, {"silence, and it goes on", 5}, {"timeout", 1}, {"timeout, and it goes on", 5}, {"timeout, with an error of its own", 5},
		{"panic", 5}, {"it cannot tell", 1}, {"its result is too large", 5},
	} {
		t.Run(fmt.Sprint(c.way, ", attempts=", c.attempts), func(t *testing.T) {
			inBubbles(t, func(k *desk) { k.losesAPayment(c.way, c.attempts) })
		})
	}
}

func (k *desk) losesAPayment(way string, attempts int) {
	h := k.house
	defer func() { <-time.After(5 * time.Minute) }() // for handlers that go on
	app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		return step.RemoteWith[string](ctx, "pay", "pay", amount, runs.RemoteOptions{Effect: posthouse.EffectWrite, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: attempts}, Timeout: time.Minute}})
	}).Open(h.ledger, nil))(h)
	line := &cutLine{Engine: k.d}
	b := &losingBank{line: line, way: way, paid: map[posthouse.ID]int{}, keys: map[string]posthouse.ID{}}
	handle := func(t worker.Task, amount int) (string, error) {
		grant, err := gate.Propose(t.Context(), gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(t.Context(), "pay", grant, b.pay)
	}
	defer k.serve("w1", line, handle)()
	must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
	h.handled("t")
	h.goesOn(app, "t", "")
	grant := h.only("t").ID
	h.decide(grant, posthouse.Approve, "alice")
	head := must(app.Resume(h.Context(), "t"))(h).Checkpoint
	defer k.serve("w2", k.d, handle)()
	h.handled("t")
	h.goesOn(app, "t", "") // it failed, or people are asked
	h.grantIs(grant, grants.Unknown)

	main, _ := must(h.ledger.Thread(h.Context(), "t"))(h).Branch(posthouse.MainBranch)
	h.lostDoors(app, head, main.Head)
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, n := range b.paid {
		if n > 1 {
			h.Errorf("%d payments under %s", n, id)
		}
	}
	if b.lost != grant || len(b.paid) < 3 || len(b.keys) != len(b.paid) {
		h.Errorf("the first was under %s; paid %v, keys %v", b.lost, b.paid, b.keys)
	}
	h.grantIs(grant, grants.Unknown)
	h.verified()
}

// goesOn has a flow go on, which may fail, and waits for what it hands out.
func (h *house) goesOn(app *flow.App[int, string], thread, branch string) {
	h.Helper()
	_, err := app.Resume(h.Context(), thread, flow.RunOptions{Branch: branch})
	var failed *flow.Error
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, posthouse.ErrNotFound) {
		h.Errorf("thread %s, branch %s, error %v", thread, branch, err)
	}
	h.handled(thread)
}

// lostDoors goes through all doors that might have a payment made again, from where its task was handed
// out and from where the thread stands now, and approves all that is proposed there. The outcome of the
// lost one stays unknown.
func (h *house) lostDoors(app *flow.App[int, string], heads ...posthouse.ID) {
	h.Helper()
	type place struct{ thread, branch string }
	places := []place{{"t", ""}}
	for i, head := range heads {
		names := []string{fmt.Sprint("fork", i), fmt.Sprint("away", i), fmt.Sprint("replay", i)}
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Branch: names[0]}))(h)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: names[1]}))(h)
		if _, err := app.Replay(h.Context(), head, flow.RunOptions{Branch: names[2]}); err == nil {
			places = append(places, place{"t", names[2]})
		}
		places = append(places, place{"t", names[0]}, place{names[1], ""})
	}
	must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
	places = append(places, place{"copy", ""}, place{"copy", "fork0"}, place{"copy", "fork1"})
	for g, err := range h.ledger.Gates(h.Context(), ledger.GateQuery{Kind: posthouse.GateTask, Thread: "t", All: true}) {
		if err != nil {
			h.Fatal(err)
		}
		again, err := ledger.RetryTask(h.Context(), h.ledger, g.ID, &ledger.RetryOptions{By: "bob"})
		if err == nil {
			places = append(places, place{"t", again.Branch})
		}
	}
	for round := range 6 { // each waits for its worker, its question and its worker again
		if round == 3 {
			for _, head := range heads {
				_, _ = h.ledger.RestartStep(h.Context(), head, nil)
			}
			for _, b := range must(h.ledger.Thread(h.Context(), "t"))(h).Branches {
				_, _ = h.ledger.RestartStep(h.Context(), b.Head, nil)
			}
		}
		for _, at := range places {
			h.goesOn(app, at.thread, at.branch)
		}
		for _, thread := range []string{"t", "away0", "away1", "copy"} {
			for _, q := range h.inbox(thread) {
				if q.Kind == gate.KindOutcome || !q.AsksPeople() {
					continue
				}
				h.decide(q.ID, posthouse.Approve, "alice")
			}
		}
	}
}
