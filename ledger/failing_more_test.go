package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A failedWorld is a store in which much has failed, lapsed and been released, and what operations
// need of it.
type failedWorld struct {
	store                               posthouse.Store
	tails                               map[string]uint64
	late                                func() time.Time // a month after all was written
	failed, goneOn, lapsed, asked, paid posthouse.ID     // gates
	start, tried, trunk, branch         posthouse.ID     // checkpoints
}

// newFailedWorld fills a store in memory.
func newFailedWorld(t *testing.T, c posthouse.Cipher) *failedWorld {
	t.Helper()
	ctx, at := t.Context(), time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	w := &failedWorld{store: memstore.New(), late: func() time.Time { return at.AddDate(0, 1, 0) }}
	l := must.Get(ledger.Open(w.store, &ledger.Options{Cipher: c, Validate: gate.Validator(), Owner: "o", Now: func() time.Time { at = at.Add(time.Millisecond); return at }}))(t)
	task := func(thread string) *posthouse.Gate {
		done := must.Get(l.Commit(ctx, &ledger.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"work"}},
			Gates: []posthouse.Gate{{Name: "fetch", Task: "1/work", Kind: posthouse.GateTask, Payload: []byte(`1`), Call: &posthouse.TaskCall{Task: "fetch"}}},
		}))(t)
		g := &done.Gates[0]
		var steps commit.TaskSteps
		must.Do(t, steps.Record(ctx, l.Core(), commit.RefOf(g), posthouse.Step{Name: "fetch>page", Value: posthouse.Value{Data: []byte(`"half"`)}}))
		_, _, err := commit.ResolveTask(ctx, l.Core(), commit.RefOf(g), &commit.TaskOutcome{By: "worker:w", Failed: "no such page"})
		must.Do(t, err)
		return g
	}
	w.failed = task("failed").ID
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "failed", KeepOpen: true, Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"work"}, Error: "no attempt is left"}}))(t)
	w.goneOn = task("gone-on").ID
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "gone-on", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	must.Get(l.Fork(ctx, must.Get(l.Gate(ctx, w.goneOn))(t).Checkpoint, nil))(t)

	approved(t, l, payment(t, l, func(context.Context) (string, error) { return "", gate.NotDone(errBank) }), "invoice")
	w.paid = must.Get(ledger.Effects(ctx, l, "invoice"))(t)[0].Grant
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "tried", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"n"}}}))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "tried", Steps: []posthouse.Step{
		{Task: "1/n", Name: "pay>$attempt", Effect: posthouse.EffectExternal, Value: posthouse.Value{Data: []byte(`{"error":"the bank did not answer"}`)}},
	}}))(t)
	stopped := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "tried", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"n"}}}))(t)
	w.tried = stopped.Checkpoint.ID

	ask := func(thread string, g posthouse.Gate) posthouse.ID {
		g.Name, g.Task = "ok?", "1/n"
		done := must.Get(l.Commit(ctx, &ledger.Draft{
			Thread: thread, Gates: []posthouse.Gate{g}, Steps: []posthouse.Step{{Task: "1/n", Name: "look", Value: posthouse.Value{Codec: "json", Data: []byte("1")}}},
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}, State: posthouse.State{"n": {Codec: "json", Data: []byte("1")}}},
		}))(t)
		w.start = done.Checkpoint.ID
		return done.Gates[0].ID
	}
	w.lapsed = ask("lapsed", posthouse.Gate{Assignees: []string{"alice"}, ExpiresAt: at.Add(time.Hour)})
	w.asked = ask("asked", posthouse.Gate{Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2}})
	must.Get(l.Delegate(ctx, w.asked, posthouse.Delegation{By: "alice", To: "carol"}))(t)
	must.Get(l.Signal(ctx, "asked", posthouse.Signal{Name: "ping", Value: []byte("1"), By: "bank"}))(t)

	head := must.Get(l.Save(ctx, posthouse.Root("report", posthouse.State{"m": {Codec: "raw", Data: make([]byte, 600)}}), nil))(t)
	for version := range 2 {
		for i := range 3 {
			head = must.Get(l.Save(ctx, head.Derive(posthouse.State{"m": {Codec: "raw", Data: append(make([]byte, 600), byte(i))}}), nil))(t)
		}
		must.Get(l.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{fmt.Sprint("r", version)}}))(t)
		head = must.Get(l.Save(ctx, posthouse.Root("report", posthouse.State{"m": {Codec: "raw", Data: []byte("1")}}), nil))(t)
	}
	w.trunk = must.Get(l.Save(ctx, head.Derive(head.State), nil))(t).ID
	w.branch = must.Get(l.Fork(ctx, head.ID, nil))(t).ID
	w.tails = tailsOf(t, w.store)
	return w
}

// again returns another store with the world's content.
func (w *failedWorld) again(t *testing.T) posthouse.Store {
	t.Helper()
	s := memstore.New()
	must.Get(transfer.CopyStore(t.Context(), w.store, s, nil))(t)
	return s
}

// over opens a ledger over a store that has the world's content.
func (w *failedWorld) over(t *testing.T, s posthouse.Store, c posthouse.Cipher) *ledger.Ledger {
	t.Helper()
	return must.Get(ledger.Open(s, &ledger.Options{Cipher: c, Now: w.late, Owner: "p", Validate: gate.Validator()}))(t)
}

// changes are operations that write.
var changes = map[string]func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error{
	"retry a task in place": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := ledger.RetryTask(ctx, l, w.failed, nil)
		return err
	},
	"retry a task on a fork": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := ledger.RetryTask(ctx, l, w.goneOn, nil)
		return err
	},
	"ask again": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.AskAgain(ctx, w.lapsed, nil)
		return err
	},
	"restart a step": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.RestartStep(ctx, w.start, nil)
		return err
	},
	"cancel": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.Cancel(ctx, "asked", nil)
		return err
	},
	"signal": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.Signal(ctx, "asked", posthouse.Signal{Name: "ping", Value: []byte("2")})
		return err
	},
	"take back": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.TakeBack(ctx, w.asked, posthouse.Delegation{By: "alice"})
		return err
	},
	"vote": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.Decide(ctx, w.asked, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"})
		return err
	},
	"release": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := l.Release(ctx, "report", nil)
		return err
	},
	"drop a version": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := retain.DropRelease(ctx, l, "report", "r0", nil)
		return err
	},
	"hold": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := retain.Hold(ctx, l, "report", retain.HoldOptions{By: "law"})
		return errors.Join(err, retain.Unhold(ctx, l, "report", retain.HoldOptions{By: "law"}))
	},
	"retain": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := retain.Run(ctx, l, retain.Policy{MaxAge: time.Hour, Released: time.Hour, Finished: time.Hour, Slots: time.Hour}, nil)
		return err
	},
	"copy a thread": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := transfer.CopyThread(ctx, l, "asked", "copied", &transfer.CopyOptions{By: "zoe"})
		return err
	},
	"copy a version": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) error {
		_, err := transfer.CopyThread(ctx, l, "report", "copied", &transfer.CopyOptions{Version: 1})
		return err
	},
}

// readings are operations that only read. Their answers are compared as JSON.
var readings = map[string]func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error){
	"plan a resume under an approval": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.PlanResume(ctx, l, "invoice", "")
	},
	"plan a resume": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.PlanResume(ctx, l, "tried", "")
	},
	"plan a fork": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.PlanFork(ctx, l, w.start, nil)
	},
	"effects": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.Effects(ctx, l, "invoice")
	},
	"grant": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.ReadGrant(ctx, l, w.paid)
	},
	"failed tasks": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "failed"})
		if err != nil {
			return nil, err
		}
		return ledger.FailedTasks(ctx, l, &head.Header)
	},
	"releases": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.FindRelease(ctx, l, "report", "r0")
	},
	"steps": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "tried"})
		if err != nil {
			return nil, err
		}
		return ledger.Steps(ctx, l, &head.Header)
	},
	"count": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return ledger.Count(ctx, l, posthouse.Query{Thread: "report"})
	},
	"compare": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return diff.Compare(ctx, l, w.trunk, w.branch)
	},
	"export": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return transfer.Export(ctx, l, "report", io.Discard, nil)
	},
	"key use": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) { return crypt.KeyUse(ctx, l) },
	"rehearse a retention": func(ctx context.Context, l *ledger.Ledger, w *failedWorld) (any, error) {
		return retain.Run(ctx, l, retain.Policy{MaxPerThread: 1, Released: time.Hour, Finished: time.Hour, Slots: time.Hour}, &retain.Options{DryRun: true})
	},
}

// TestEveryStoreErrorIsToldAfterFailures does what TestEveryStoreErrorIsTold does with operations on
// threads that failed, lapsed or were released: no failure of the store is swallowed, the store
// verifies afterwards, and the operation done again succeeds or finds that it was done. A reading
// that does without what could not be read answers as if nothing had failed.
func TestEveryStoreErrorIsToldAfterFailures(t *testing.T) {
	for posture, c := range map[string]posthouse.Cipher{"plain": nil, "sealed": keyring(t, "k1")} {
		t.Run(posture, func(t *testing.T) {
			w := newFailedWorld(t, c)
			for name, op := range changes {
				t.Run(name, func(t *testing.T) { w.failChanges(t, c, op, name == "cancel") })
			}
			for name, op := range readings {
				t.Run(name, func(t *testing.T) { w.failReadings(t, c, op) })
			}
		})
	}
}

// failChanges fails the n-th call of the store under an operation, n = 1, 2, ..., until it passes. One that
// wakes the caller of a thread that ends does not report if that fails: a runner does it again.
func (w *failedWorld) failChanges(t *testing.T, c posthouse.Cipher, op func(context.Context, *ledger.Ledger, *failedWorld) error, wakes bool) {
	for n := 1; ; n++ {
		store := w.again(t)
		s := failAt(store, n)
		err := op(t.Context(), w.over(t, s, c), w)
		if s.n.Load() > 0 {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			return
		}
		if !errors.Is(err, errInjected) && !(wakes && err == nil) {
			t.Errorf("the failure of call %d is told as %v", n, err)
		}
		report := must.Get(sign.Verify(t.Context(), store, nil, nil))(t)
		if !report.OK() {
			t.Errorf("after the failure of call %d: %+v", n, report)
		}
		tails := tailsOf(t, store)
		err = op(t.Context(), w.over(t, store, c), w)
		if done := errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrExists); err != nil && !(done && !maps.Equal(tails, w.tails)) {
			t.Errorf("again after the failure of call %d: %v", n, err)
		}
	}
}

func (w *failedWorld) failReadings(t *testing.T, c posthouse.Cipher, op func(context.Context, *ledger.Ledger, *failedWorld) (any, error)) {
	want := must.Get(json.Marshal(must.Get(op(t.Context(), w.over(t, w.store, c), w))(t)))(t)
	for n := 1; ; n++ {
		s := failAt(w.store, n)
		v, err := op(t.Context(), w.over(t, s, c), w)
		switch have := must.Get(json.Marshal(v))(t); {
		case err == nil && !bytes.Equal(have, want):
			t.Errorf("the failure of call %d makes the answer\n%s\nwant\n%s", n, have, want)
		case err != nil && !errors.Is(err, errInjected):
			t.Errorf("the failure of call %d is told as %v", n, err)
		}
		if s.n.Load() > 0 {
			return
		}
	}
}

// tailsOf returns how long each thread is.
func tailsOf(t *testing.T, s posthouse.Store) map[string]uint64 {
	t.Helper()
	tails := map[string]uint64{}
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		must.Do(t, err)
		tails[info.Thread] = info.Tail.Seq
	}
	return tails
}

// TestAQuestionIsAskedAgainOnce fails each call of the store under a second attempt to ask again: it
// finds the first, or tells that it could not look. It never asks on a fork, too.
func TestAQuestionIsAskedAgainOnce(t *testing.T) {
	w := newFailedWorld(t, nil)
	store := w.again(t)
	first := must.Get(w.over(t, store, nil).AskAgain(t.Context(), w.lapsed, nil))(t)
	for n := 1; ; n++ {
		s := failAt(store, n)
		_, err := w.over(t, s, nil).AskAgain(t.Context(), w.lapsed, nil)
		var e *posthouse.Error
		if !errors.Is(err, errInjected) && !(errors.As(err, &e) && e.Code == posthouse.CodeConflict && e.Gate == first.ID) {
			t.Fatalf("with the failure of call %d: %v, want the conflict with gate %s", n, err, first.ID)
		}
		if info := must.Get(w.over(t, store, nil).Thread(t.Context(), "lapsed"))(t); len(info.Branches) != 1 || len(info.Waiting) != 1 {
			t.Fatalf("after the failure of call %d there are %d branches, and it waits for %+v", n, len(info.Branches), info.Waiting)
		}
		if s.n.Load() > 0 {
			return
		}
	}
}

// TestCopiesTellStoreErrors fails each call of the source and of the target of a copy of a store, and
// of an import: it is told, and the copy done again is whole.
func TestCopiesTellStoreErrors(t *testing.T) {
	ctx, from := t.Context(), newFailedWorld(t, nil)
	_, err := transfer.EnsureStoreID(ctx, from.store)
	must.Do(t, err)
	var file bytes.Buffer
	must.Get(transfer.Export(ctx, from.over(t, from.store, nil), "report", &file, nil))(t)
	for name, op := range map[string]func(from, to posthouse.Store) error{
		"copy": func(from, to posthouse.Store) error {
			_, err := transfer.CopyStore(ctx, from, to, &transfer.CopyStoreOptions{Concurrency: 1})
			return err
		},
		"import": func(_, to posthouse.Store) error {
			_, err := transfer.Import(ctx, over(t, to, nil), bytes.NewReader(file.Bytes()), nil)
			return err
		},
	} {
		for _, side := range []string{"source", "target"} {
			t.Run(name+", "+side, func(t *testing.T) {
				for n := 1; ; n++ {
					to := memstore.New()
					s := failAt(from.store, n)
					source, target := posthouse.Store(s), posthouse.Store(to)
					if side == "target" {
						s.Store = to
						source, target = from.store, s
					}
					err := op(source, target)
					if s.n.Load() > 0 {
						must.Do(t, err)
						return
					}
					if !errors.Is(err, errInjected) {
						t.Errorf("the failure of call %d is told as %v", n, err)
					}
					must.Do(t, op(from.store, to))
				}
			})
		}
	}
}
