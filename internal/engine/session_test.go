package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A spy counts reads of the log and can fail appends.
type spy struct {
	*memstore.Store
	reads atomic.Int64
	fail  atomic.Pointer[error]
}

func (s *spy) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	s.reads.Add(1)
	return s.Store.Read(ctx, thread, r)
}

func (s *spy) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := s.fail.Load(); err != nil {
		return *err
	}
	return s.Store.Append(ctx, b)
}

func TestFreshNodeReadsNothing(t *testing.T) {
	st := &spy{Store: memstore.New()}
	l := open(t, st, nil)
	s := begin(t, l, "t1")
	input(t, s)
	before := st.reads.Load()
	var j journal
	for range 5 {
		tk := task(t, s, "work")
		if _, err := j.do(context.Background(), tk, "llm", nil); err != nil {
			t.Fatal(err)
		}
		commit(t, s, posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"work"}}, ledger.Draft{})
	}
	if n := st.reads.Load() - before; n != 0 {
		t.Fatalf("%d reads", n)
	}
	// Nor does the same execution once more: the session knows what it recorded.
	for i := range 2 {
		v, err := j.do(context.Background(), task(t, s, "work"), "llm", nil)
		if err != nil || v != `"llm6"` {
			t.Fatal(i, v, err)
		}
	}
	if n := st.reads.Load() - before; n != 0 {
		t.Fatalf("%d reads", n)
	}
	s, tk := again(t, l, s)
	before = st.reads.Load()
	for range 3 {
		if v, err := j.do(context.Background(), tk, "llm", nil); err != nil || v != `"llm6"` {
			t.Fatal(v, err)
		}
		tk = task(t, s, "work")
	}
	if n := st.reads.Load() - before; n != 0 {
		t.Fatalf("%d reads for executions that were read before", n)
	}
}

func TestExecutionBeforeTheFirstCheckpoint(t *testing.T) {
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	var j journal
	for range 2 {
		if v, err := j.do(context.Background(), task(t, s, "work"), "llm", nil); err != nil || v != `"llm1"` {
			t.Fatal(v, err)
		}
	}
	// Another run is another execution: no process could have gone on with the first.
	_, tk := again(t, l, s)
	if v, err := j.do(context.Background(), tk, "llm", nil); err != nil || v != `"llm2"` {
		t.Fatal(v, err)
	}
}

// The lease of a run that stopped between two nodes is free at once for
// another process, and its own writes are fenced from then on.
func TestLeaseAndFence(t *testing.T) {
	ctx := context.Background()
	store, clk := memstore.New(), newClock()
	a := open(t, store, &ledger.Options{Owner: "a", Now: clk.now})
	b := open(t, store, &ledger.Options{Owner: "b", Now: clk.now})
	sa := begin(t, a, "t1")
	input(t, sa)
	if _, err := session.Begin(ctx, b, session.Options{Thread: "t1"}); !errors.Is(err, posthouse.ErrBusy) {
		t.Fatal(err)
	}
	clk.advance(11 * time.Second) // a has not been heard of
	sb := begin(t, b, "t1")
	var j journal
	if _, err := j.do(ctx, task(t, sb, "work"), "llm", nil); err != nil {
		t.Fatal(err)
	}
	_, err := j.do(ctx, task(t, sa, "work"), "llm", nil)
	if !errors.Is(err, posthouse.ErrFenced) && !errors.Is(err, posthouse.ErrBusy) {
		t.Fatal("a stale run recorded a result:", err)
	}
	if sa.Err() == nil || !errors.Is(err, sa.Err()) {
		t.Fatal(sa.Err())
	}
	if err := sa.End(ctx); err != nil {
		t.Fatal(err)
	}
	if err := sb.End(ctx); err != nil {
		t.Fatal(err)
	}
	begin(t, a, "t1")
}

func TestFailedCommitEndsTheSession(t *testing.T) {
	ctx := context.Background()
	st := &spy{Store: memstore.New()}
	l := open(t, st, nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	big := posthouse.Value{Codec: "raw", Data: make([]byte, posthouse.DefaultMaxState+1)}
	_, err := tk.Do(ctx, "big", 0, func(context.Context) (posthouse.Value, error) { return big, nil })
	if !errors.Is(err, posthouse.ErrTooLarge) || s.Err() != nil {
		t.Fatal("a result that is too large is the program's fault:", err, s.Err())
	}
	var full error = &posthouse.Error{Code: posthouse.CodeFull, Message: "no space left"}
	st.fail.Store(&full)
	tk.Records().Hold(posthouse.Step{Name: "held", Value: value("h")})
	var j journal
	if _, err := j.do(ctx, tk, "llm", nil); !errors.Is(err, posthouse.ErrFull) {
		t.Fatal(err)
	}
	st.fail.Store(nil)
	if _, err := j.do(ctx, tk, "mail", nil); !errors.Is(err, posthouse.ErrFull) {
		t.Fatal("the run went on past a failed commit:", err)
	}
	if h := tk.Records().Held(); len(h) != 1 || h[0].Name != "held" {
		t.Fatal("what was held is gone:", h)
	}
}

func TestStaleHeadIsAConflict(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := open(t, store, nil)
	s := begin(t, l, "t1")
	input(t, s)
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1") // an intention: nothing of it is in the log yet
	other, err := open(t, store, nil).Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t1", Parent: s.Head().ID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tk := task(t, s, "work")
	var j journal
	_, err = j.do(ctx, tk, "llm", nil)
	var e *posthouse.Error
	if !errors.Is(err, posthouse.ErrConflict) || len(j.ran) != 0 || !errors.As(err, &e) || e.Head != other.ID || s.Err() == nil {
		t.Fatal(err)
	}
	// And where nothing was asked before the commit:
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	if _, err := open(t, store, nil).Save(ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t1", Parent: s.Head().ID}}, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{}}); !errors.Is(err, posthouse.ErrConflict) {
			t.Fatal(err)
		}
	}
}

// Two processes mean to resume a thread at once: one acts, the other is told
// before it does, even if the first is done and left the head where it was.
func TestOnlyOneBeginsToAct(t *testing.T) {
	for _, ended := range []bool{false, true} {
		ctx, store := context.Background(), memstore.New()
		a, b := open(t, store, &ledger.Options{Owner: "a"}), open(t, store, &ledger.Options{Owner: "b"})
		s := begin(t, a, "t1")
		input(t, s)
		if err := s.End(ctx); err != nil {
			t.Fatal(err)
		}
		sa, sb := begin(t, a, "t1"), begin(t, b, "t1")
		ta, tb := task(t, sa, "work"), task(t, sb, "work")
		var j journal
		if _, err := j.do(ctx, tb, "llm", nil); err != nil {
			t.Fatal(err)
		}
		want := posthouse.ErrBusy
		if ended {
			want = posthouse.ErrConflict
			if err := sb.End(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.do(ctx, ta, "llm", nil); !errors.Is(err, want) {
			t.Fatal(err)
		}
		if err := ta.PersistClaim(ctx); !errors.Is(err, want) || len(j.ran) != 1 {
			t.Fatalf("error %v, j.ran %v", err, j.ran)
		}
	}
}

// A store that only this process has needs no such record.
func TestSecuringCostsNothingOnAnExclusiveStore(t *testing.T) {
	l := open(t, &exclusive{Store: memstore.New()}, nil)
	s := begin(t, l, "t1")
	input(t, s)
	s, _ = again(t, l, s)
	seq := s.Head().Seq
	s, _ = again(t, l, s)
	info, err := l.Thread(context.Background(), "t1")
	if err != nil || s.Head().Seq != seq || info.Tail.Seq != seq+1 { // the first session gave its claim back
		t.Fatalf("info %v, error %v", info, err)
	}
}

type exclusive struct {
	*memstore.Store
	runs posthouse.Running
}

func (*exclusive) Exclusive() bool { return true }

func (e *exclusive) Runs() *posthouse.Running { return &e.runs }

func TestHeldResultsGoWithWhatFollows(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	call := func(tk *engine.Task, v string) (string, bool) {
		r, ok := tk.Records().Recorded("agent")
		if !ok {
			r.Value = value(v)
			tk.Records().Hold(r.Step)
		}
		return string(r.Value.Data), ok
	}
	call(tk, "one")
	call(tk, "two")
	var j journal
	if _, err := j.do(ctx, tk, "llm", nil); err != nil {
		t.Fatal(err)
	}
	call(tk, "three")
	held := tk.Records().Held()
	if len(held) != 1 || held[0].Task != tk.Key() || held[0].Occurrence != 2 || len(tk.Records().Held()) != 0 {
		t.Fatal(held)
	}
	commit(t, s, posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"work"}}, ledger.Draft{Steps: held})
	_, tk = again(t, l, s)
	for _, want := range []string{`"one"`, `"two"`, `"three"`} {
		if v, ok := call(tk, "new"); !ok || v != want {
			t.Fatal(v, ok)
		}
	}
	if v, ok := call(tk, "new"); ok || v != `"new"` {
		t.Fatal(v, ok)
	}
	if v, err := j.do(ctx, tk, "llm", nil); err != nil || v != `"llm1"` {
		t.Fatal("a call taken by Recorded has no order:", v, err)
	}
}

func TestTaskWithKeySpansCheckpoints(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk, err := engine.TaskWithKey(ctx, s, "dispatch/1", true)
	if err != nil {
		t.Fatal(err)
	}
	var j journal
	if _, err := j.do(ctx, tk, "a", nil); err != nil {
		t.Fatal(err)
	}
	commit(t, s, posthouse.Change{Kind: posthouse.KindEvent, Status: posthouse.StatusRunning, Next: []string{"dispatch"}}, ledger.Draft{})
	if _, err := j.do(ctx, tk, "b", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	s = begin(t, l, "t1")
	tk, err = engine.TaskWithKey(ctx, s, "dispatch/1", false)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []string{"a", "b"} {
		if v, err := j.do(ctx, tk, n, nil); err != nil || v != fmt.Sprintf("%q", n+fmt.Sprint(i+1)) {
			t.Fatal(v, err)
		}
	}
}

// Whatever runs, fails, crashes and runs again: a result that was recorded is
// what every later execution sees, and its function does not run again. Nor does one that
// failed before another call was recorded.
func TestReplayProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		l, err := ledger.Open(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 8).Draw(t, "program")
		recorded, stands := make([]string, len(names)), make([]bool, len(names))
		s, err := session.Begin(ctx, l, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range rapid.IntRange(1, 5).Draw(t, "executions") {
			tk, err := engine.TaskWithKey(ctx, s, s.Key("n"), false)
			if err != nil {
				t.Fatal(err)
			}
			stop := rapid.IntRange(0, len(names)).Draw(t, "stop")
			fails := rapid.SliceOfN(rapid.Bool(), len(names), len(names)).Draw(t, "fails")
			var failed []int // in this execution
			for i, name := range names[:stop] {
				ran := false
				v, err := tk.Do(ctx, name, 0, func(context.Context) (posthouse.Value, error) {
					ran = true
					if recorded[i] != "" || stands[i] {
						t.Fatalf("call %d ran again", i)
					}
					if n++; fails[i] {
						return posthouse.Value{}, errors.New("no")
					}
					return posthouse.Value{Codec: "raw", Data: fmt.Append(nil, n)}, nil
				})
				switch {
				case err != nil && (recorded[i] != "" || !fails[i] && !stands[i]):
					t.Fatalf("call %d: %v", i, err)
				case err == nil && stands[i]:
					t.Fatalf("call %d did not fail again", i)
				case err != nil:
					failed = append(failed, i)
				case err == nil && recorded[i] != "" && recorded[i] != string(v.Data):
					t.Fatalf("call %d: %s, recorded was %s", i, v.Data, recorded[i])
				default:
					recorded[i] = string(v.Data)
					for _, f := range failed {
						stands[f] = stands[f] || ran
					}
				}
			}
			if rapid.Bool().Draw(t, "crash") {
				if err := s.End(ctx); err != nil {
					t.Fatal(err)
				}
				s, err = session.Begin(ctx, l, session.Options{Thread: "t"})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestForkInheritsWhatWasRecordedBefore(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	var j journal
	tk := task(t, s, "work")
	if _, err := j.do(ctx, tk, "before", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"}); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	wait := park(t, s, tk)
	if _, err := l.Decide(ctx, wait.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	s, tk = again(t, l, s)
	if _, err := j.do(ctx, tk, "before", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.do(ctx, tk, "after", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.End(ctx); err != nil {
		t.Fatal(err)
	}
	f, err := l.Fork(ctx, wait.Checkpoint.ID, &ledger.ForkOptions{Branch: "other"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := session.Begin(ctx, l, session.Options{Thread: "t1", Branch: "other"})
	if err != nil || b.Head().ID != f.ID {
		t.Fatalf("b.Head() %v, error %v", b.Head(), err)
	}
	tk = task(t, b, "work")
	var key string
	if _, err := j.do(ctx, tk, "before", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"}); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal("the fork passed a gate that it has to ask again:", err)
	}
	if _, err := tk.Do(ctx, "after", 0, func(ctx context.Context) (posthouse.Value, error) {
		key, _ = engine.StepKey(ctx)
		return value("new"), nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"before", "after"}; !slices.Equal(j.ran, want) {
		t.Fatal(j.ran)
	}
	if want := "t1~other/" + tk.Key() + "/after/0"; key != want {
		t.Fatalf("key %q, want %q", key, want)
	}
}
