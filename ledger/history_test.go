package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A world is a store with random histories in it: branches, forks into other
// threads, questions, answers, recorded results, splices, replacements,
// deletions, over weeks of a clock that the test moves.
type world struct {
	t     *rapid.T
	ctx   context.Context
	store *memstore.Store
	l     *ledger.Ledger
	now   time.Time
}

func newWorld(t *rapid.T, o ledger.Options) *world {
	w := &world{t: t, ctx: context.Background(), store: memstore.New(), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	o.Now = func() time.Time { return w.now }
	l, err := ledger.Open(w.store, &o)
	w.ok(err)
	w.l = l
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

// fill does n random things.
func (w *world) fill(n int) {
	for range n {
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 9 * time.Hour, 50 * time.Hour}).Draw(w.t, "later"))
		err := rapid.SampledFrom([]func() error{
			w.root, w.change, w.change, w.change, w.change, w.step, w.step, w.wait, w.decide, w.signal, w.cancel, w.fork, w.remove, w.replace, w.deleteThread, w.release, w.release,
		}).Draw(w.t, "do")()
		for _, fine := range []*posthouse.Error{posthouse.ErrConflict, posthouse.ErrNotFound, posthouse.ErrExists, posthouse.ErrForbidden} {
			if errors.Is(err, fine) {
				err = nil
			}
		}
		w.ok(err)
	}
}

func (w *world) thread() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.t, "thread")
}

func (w *world) branch(thread string) string {
	info, err := w.l.Thread(w.ctx, thread)
	if err != nil || len(info.Branches) == 0 {
		return ""
	}
	return rapid.SampledFrom(info.Branches).Draw(w.t, "branch").Branch
}

func (w *world) checkpoint() (posthouse.ID, bool) {
	var ids []posthouse.ID
	for h, err := range w.l.List(w.ctx, posthouse.Query{}) {
		w.ok(err)
		ids = append(ids, h.ID)
	}
	if len(ids) == 0 {
		return "", false
	}
	return rapid.SampledFrom(ids).Draw(w.t, "checkpoint"), true
}

func (w *world) text() []byte {
	return bytes.Repeat([]byte{byte(rapid.IntRange('a', 'z').Draw(w.t, "letter"))}, rapid.IntRange(1, 900).Draw(w.t, "size"))
}

func (w *world) labels() map[string]string {
	if rapid.IntRange(0, 5).Draw(w.t, "labelled") == 0 {
		return map[string]string{"keep": "yes"}
	}
	return nil
}

func (w *world) root() error {
	c := posthouse.Root(w.thread(), posthouse.State{"log": {Codec: "raw", Data: w.text()}, "x": {Codec: "raw", Data: w.text()}})
	c.Labels = w.labels()
	_, err := w.l.Save(w.ctx, c, nil)
	return err
}

// change grows the log, or sets or drops a part.
func (w *world) change() error {
	thread := w.thread()
	d := &ledger.Draft{Thread: thread, Branch: w.branch(thread), Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Labels: w.labels()}}
	head, err := w.l.Latest(w.ctx, ledger.LatestQuery{Thread: thread, Branch: d.Branch})
	if err != nil {
		return err
	}
	old := head.State["log"].Data
	switch data := w.text(); rapid.IntRange(0, 4).Draw(w.t, "change") {
	case 0:
		d.Checkpoint.Parts = []posthouse.Part{{Name: "x", Codec: "raw", Data: data}}
	case 1:
		d.Checkpoint.Parts = []posthouse.Part{{Name: "x", Drop: true}}
		d.Checkpoint.Metadata = map[string]string{"note": string(data[:1])}
	default:
		if old == nil {
			d.Checkpoint.Parts = []posthouse.Part{{Name: "log", Codec: "raw", Data: data}}
			break
		}
		cut := rapid.IntRange(0, min(len(old), 300)).Draw(w.t, "cut")
		d.Checkpoint.Parts = []posthouse.Part{{Name: "log", Codec: "raw", Splice: true, Prefix: len(old) - cut, Data: data}}
	}
	_, err = w.l.Commit(w.ctx, d)
	return err
}

func (w *world) step() error {
	thread := w.thread()
	d := &ledger.Draft{Thread: thread, Branch: w.branch(thread), Steps: []posthouse.Step{{Task: "1/n", Name: "s", Value: posthouse.Value{Codec: "raw", Data: w.text()}}}}
	if d.Branch == "" {
		return nil
	}
	_, err := w.l.Commit(w.ctx, d)
	if err == nil && rapid.Bool().Draw(w.t, "used") {
		_, err = w.l.Commit(w.ctx, &ledger.Draft{Thread: thread, Branch: d.Branch, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Parts: []posthouse.Part{{Name: "last", Codec: "raw", Data: d.Steps[0].Value.Data}},
		}})
	}
	return err
}

func (w *world) wait() error {
	thread := w.thread()
	d := &ledger.Draft{Thread: thread, Branch: w.branch(thread), Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"},
	}, Gates: []posthouse.Gate{{Name: "ok?", Task: "1/n"}}}
	if rapid.IntRange(0, 3).Draw(w.t, "for a signal") == 0 {
		d.Gates[0].Kind, d.Gates[0].Signal = posthouse.GateSignal, "paid"
	}
	if d.Branch == "" {
		return nil
	}
	_, err := w.l.Commit(w.ctx, d)
	return err
}

func (w *world) decide() error {
	for g, err := range w.l.Gates(w.ctx, ledger.GateQuery{Newest: rapid.Bool().Draw(w.t, "newest")}) {
		w.ok(err)
		_, err = w.l.Decide(w.ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		return err
	}
	return nil
}

func (w *world) signal() error {
	_, err := w.l.Signal(w.ctx, w.thread(), posthouse.Signal{Name: "paid", Value: []byte(`1`), Latch: rapid.Bool().Draw(w.t, "latch")})
	return err
}

func (w *world) cancel() error {
	if rapid.IntRange(0, 2).Draw(w.t, "rarely") > 0 {
		return nil
	}
	thread := w.thread()
	_, err := w.l.Cancel(w.ctx, thread, &ledger.CancelOptions{Branch: w.branch(thread), Reason: "enough"})
	return err
}

func (w *world) fork() error {
	id, ok := w.checkpoint()
	if !ok {
		return nil
	}
	o := &ledger.ForkOptions{}
	if rapid.Bool().Draw(w.t, "away") {
		o.Thread = fmt.Sprint("f", rapid.IntRange(0, 3).Draw(w.t, "fork"))
	}
	_, err := w.l.Fork(w.ctx, id, o)
	return err
}

func (w *world) remove() error {
	id, ok := w.checkpoint()
	if !ok {
		return nil
	}
	_, err := retain.Delete(w.ctx, w.l, id, &retain.DeleteOptions{Mode: rapid.SampledFrom([]retain.DeleteMode{
		retain.DeleteRefuse, retain.DeleteOrphan, retain.DeleteSubtree,
	}).Draw(w.t, "mode")})
	return err
}

func (w *world) replace() error {
	id, ok := w.checkpoint()
	if !ok {
		return nil
	}
	c, err := w.l.Get(w.ctx, id)
	if err != nil {
		return err
	}
	c.State["x"] = posthouse.Value{Codec: "raw", Data: w.text()}
	_, err = w.l.Save(w.ctx, c, &ledger.SaveOptions{Replace: true})
	return err
}

func (w *world) deleteThread() error {
	if rapid.IntRange(0, 3).Draw(w.t, "really") != 0 {
		return nil
	}
	_, err := retain.DeleteThread(w.ctx, w.l, w.thread(), nil)
	return err
}

func (w *world) release() error {
	o := &ledger.ReleaseOptions{}
	if rapid.Bool().Draw(w.t, "tagged") {
		o.Tags = []string{"gold"}
	}
	_, err := w.l.Release(w.ctx, w.thread(), o)
	return err
}

// there yields the threads that have something left, released ones too.
func (w *world) there() iter.Seq[string] {
	return func(yield func(string) bool) {
		for info, err := range w.store.Threads(w.ctx, posthouse.ThreadQuery{}) {
			w.ok(err)
			if (len(info.Branches) > 0 || info.Checkpoints > 0 || len(info.Signals) > 0 || info.Releases > 0) && !yield(info.Thread) {
				return
			}
		}
	}
}
