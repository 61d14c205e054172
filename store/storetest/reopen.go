package storetest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

func reopenCases() []Case {
	return []Case{
		{
			Name: "reopen/everything is there again",
			Rule: "After Close and opening the same data, entries, index, order, summaries, slots, revisions and fences are as they were, and the log goes on.",
			Run:  reopenHere, Needs: NeedDurable,
		}, {
			Name: "reopen/another process wrote it and was killed",
			Rule: "What another process had acknowledged before it was killed, without any goodbye, is there, all of it, and nothing else.",
			Run:  reopenKilled, Needs: NeedDurable,
		},
	}
}

// A history is a fixed list of all kinds of operations, the same in each process.
func history(b *Builder) (ops []func(context.Context, posthouse.Store) error, ids []posthouse.ID) {
	add := func(l *Log, items ...Item) {
		batch := l.Next(items...)
		l.Took(batch)
		for _, id := range batch.IDs {
			ids = append(ids, id.ID)
		}
		ops = append(ops, func(ctx context.Context, s posthouse.Store) error { return s.Append(ctx, batch) })
	}
	addAll := func(batches []*posthouse.Batch) {
		for _, b := range batches {
			ids = append(ids, b.IDs[0].ID)
		}
		ops = append(ops, func(ctx context.Context, s posthouse.Store) error {
			if all, ok := s.(posthouse.BulkAppender); ok {
				return all.AppendAll(ctx, batches)
			}
			for _, b := range batches {
				if err := s.Append(ctx, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	remove := func(r posthouse.Removal) {
		ops = append(ops, func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Remove(ctx, r)
			return err
		})
	}
	slot := func(thread, step string, op posthouse.SlotOp) {
		ops = append(ops, func(ctx context.Context, s posthouse.Store) error {
			_, err := s.Slot(ctx, posthouse.SlotKey{Thread: thread, Step: step}, op)
			return err
		})
	}
	for n := range 12 {
		l := b.Log(fmt.Sprintf("thread-%d", n))
		for i := range 10 {
			h := posthouse.Header{
				Agent: fmt.Sprint("agent-", i%3), Coordination: []string{"", "desk"}[n%2], Branch: []string{"main", "draft"}[i%2],
				Labels: map[string]string{"n": fmt.Sprint(i)}, Status: posthouse.StatusRunning, Graph: "refund",
			}
			if i%4 == 3 {
				h.ID = posthouse.ID(fmt.Sprintf("foreign:%d.%d", n, 100-i))
			}
			add(l, l.Checkpoint(h, fmt.Sprint("state ", n, i)), l.Step("none", nil), l.Step("s", Filler(i*100, "result")))
			b.Advance(time.Millisecond)
		}
		if n%5 == 0 {
			addAll(l.bulkOf(7, "bulk"))
		}
		gate := b.GateID()
		ids = append(ids, gate)
		add(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "asks"), l.Gate(gate, b.Now().Add(time.Duration(n)*time.Minute)))
		slot(l.Info.Thread, "s", posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(fmt.Sprint("slot ", n)), Fence: uint64(n)})
		switch n % 4 {
		case 1:
			add(l, l.Decision(gate))
			remove(posthouse.Removal{Thread: l.Info.Thread, Bodies: []posthouse.BodyRef{{Seq: 2}, {Seq: 3, Record: 2}}})
		case 2:
			add(l, l.Claim("host", 3, false), l.Removal(ids[len(ids)-3]))
			remove(posthouse.Removal{Thread: l.Info.Thread, Below: 6})
			slot(l.Info.Thread, "s", posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
		case 3:
			if n == 3 {
				remove(posthouse.Removal{Thread: l.Info.Thread, All: true})
			} else {
				remove(posthouse.Removal{Thread: l.Info.Thread, Below: 1 << 40})
			}
		}
	}
	return ops, ids
}

// after returns the model after a part of the history.
func (t *T) after(ops []func(context.Context, posthouse.Store) error) Model {
	t.Helper()
	m := NewModel()
	for _, op := range ops {
		t.OK(op(t.ctx, m))
	}
	return m
}

func reopenHere(t *T) {
	ops, ids := history(t.Builder)
	s := t.Store
	for i, op := range ops {
		t.OK(op(t.ctx, s))
		if i == len(ops)/2 || i == len(ops)-1 {
			t.OK(s.Close())
			s = t.OpenStore(t.dir)
			t.WantSame(s, t.after(ops[:i+1]), ids)
		}
	}
	t.goesOn(s)
}

// goesOn fails unless old entries are there and new ones can be appended.
func (t *T) goesOn(s posthouse.Store) {
	t.Helper()
	t.Store = s
	l, err := t.Tail("thread-1")
	t.OK(err)
	if l.Info.Tail.Seq == 0 {
		t.Fatal("thread-1 is gone")
	}
	info := l.Info
	stale := *info
	stale.Tail.Seq--
	err = s.Append(t.ctx, t.Builder.Resume(&stale).Next(l.Step("s", []byte("stale"))))
	t.WantCode("a stale append", err, posthouse.CodeConflict)
	t.WantTail("a stale append", err, info.Tail)
	t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "the log goes on"))

	key := posthouse.SlotKey{Thread: "thread-9", Step: "s"}
	t.slotFails("a put under an old fence", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 8}, posthouse.CodeFenced)
	t.put(key, "x", posthouse.AnyRevision, 9)
}

const (
	childEnv  = "POSTHOUSE_STORETEST_CHILD" // a directory: be the process that writes there
	childDone = "storetest: everything was acknowledged"
)

// reopenKilled runs this test in another process, which writes and kills itself.
func reopenKilled(t *T) {
	t.OK(t.Store.Close())
	dir := t.TempDir()
	cmd := t.again()
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), childDone) {
		t.Fatalf("the other process was not killed after it had written: %v\n%s", err, out)
	}
	ops, ids := history(t.Builder)
	s := t.OpenStore(dir)
	t.WantSame(s, t.after(ops), ids)
	t.goesOn(s)
	t.Check(s)
}

// again starts this program again, at the test that runs the suite.
func (t *T) again() *exec.Cmd {
	t.Helper()
	if t.Harness.Again != nil {
		return t.Harness.Again(t.ctx)
	}
	if flag.Lookup("test.run") == nil {
		t.Fatal("storetest: this program is no test binary: set Harness.Again")
	}
	exe, err := os.Executable()
	t.OK(err)
	top, _, _ := strings.Cut(t.Name(), "/reopen/")
	var run []string
	for _, part := range strings.Split(top, "/") {
		run = append(run, "^"+regexp.QuoteMeta(part)+"$")
	}
	return exec.CommandContext(t.ctx, exe, "-test.run="+strings.Join(run, "/"), "-test.count=1")
}

// child is the other process. It opens the store twice and never closes the second.
func (h Harness) child(t TB, dir string) {
	ops, _ := history(NewBuilder())
	s := h.Open(t, dir)
	for i, op := range ops {
		if err := op(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if i == len(ops)/2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = h.Open(t, dir)
		}
	}
	if _, err := io.WriteString(os.Stdout, childDone+"\n"); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {} // until the signal is here
}
