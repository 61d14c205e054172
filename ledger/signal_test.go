package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A bench is two ledgers over one store, as two processes have it, on a clock
// that stands still until told.
type bench struct {
	*testing.T
	a, b *ledger.Ledger
	now  time.Time
	mu   sync.Mutex
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)}
	store := memstore.New()
	b.a = must.Get(ledger.Open(store, &ledger.Options{Owner: "a", Now: b.Now}))(t)
	b.b = must.Get(ledger.Open(store, &ledger.Options{Owner: "b", Now: b.Now}))(t)
	return b
}

func (b *bench) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) send(name, value string) *posthouse.Signal {
	b.Helper()
	return must.Get(b.b.Signal(b.Context(), "t", posthouse.Signal{Name: name, Value: json.RawMessage(value), By: "alice"}))(b)
}

// wait commits a checkpoint that waits for signals of these names; a name with
// a trailing ! is a latch.
func (b *bench) wait(branch string, claim *ledger.Claim, names ...string) *posthouse.Committed {
	b.Helper()
	d := &ledger.Draft{Thread: "t", Branch: branch, Claim: claim, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}}
	for i, n := range names {
		name, latch := strings.CutSuffix(n, "!")
		d.Gates = append(d.Gates, posthouse.Gate{Name: "wait", Occurrence: uint32(i), Kind: posthouse.GateSignal, Signal: name, Latch: latch})
	}
	return must.Get(b.a.Commit(b.Context(), d))(b)
}

func (b *bench) answers(c *posthouse.Committed) string {
	b.Helper()
	var got []string
	for _, g := range c.Gates {
		g := must.Get(b.b.Gate(b.Context(), g.ID))(b)
		switch {
		case g.Decision == nil:
			got = append(got, "-")
		default:
			got = append(got, string(g.Decision.Value))
		}
	}
	return strings.Join(got, " ")
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (b *bench) status(want posthouse.Status) {
	b.Helper()
	if info := must.Get(b.b.Thread(b.Context(), "t"))(b); info.Status != want {
		b.Errorf("the thread is %q, want %q", info.Status, want)
	}
}

// TestSignalsAnswerTheOldestWait: one gate a branch for each signal, in order.
func TestSignalsAnswerTheOldestWait(t *testing.T) {
	b := newBench(t)
	c := b.wait("", nil, "go", "go", "other", "go!")
	b.status(posthouse.StatusWaiting)
	s := b.send("go", "1")
	b.want("after one", b.answers(c), "1 - - 1")
	b.status(posthouse.StatusReady)
	if len(s.Gates) != 2 || s.Gates[0] != c.Gates[0].ID {
		t.Errorf("the signal says it answered %v", s.Gates)
	}
	b.send("go", "2")
	b.send("go", "3")
	b.want("after three", b.answers(c), "1 2 - 1")
	// The third waits for whoever asks next; the latch reads the newest.
	c = b.wait("", nil, "go", "go", "go!")
	b.want("next", b.answers(c), "3 - 3")
	b.status(posthouse.StatusReady)
}

// TestLatchedSignalAnswersEveryWait: also those that would take it.
func TestLatchedSignalAnswersEveryWait(t *testing.T) {
	b := newBench(t)
	c := b.wait("", nil, "go", "go", "go!")
	must.Get(b.b.Signal(t.Context(), "t", posthouse.Signal{Name: "go", Latch: true}))(t)
	b.want("all", b.answers(c), "null null null")
	b.want("taken once", b.answers(b.wait("", nil, "go", "go!")), "- null")
}

// TestNoWakeUpIsLost sends while a run has the thread, before, between and at
// the same time as its commits: whatever the order, the wait has its signal.
func TestNoWakeUpIsLost(t *testing.T) {
	for round := range 50 {
		b := newBench(t)
		claim := must.Get(b.a.Claim(t.Context(), "t", "r"))(t)
		must.Get(b.a.Commit(t.Context(), &ledger.Draft{
			Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning},
		}))(t)
		var wg sync.WaitGroup
		wg.Go(func() { b.send("go", fmt.Sprint(round)) })
		var c *posthouse.Committed
		wg.Go(func() { c = b.wait("", claim, "go") })
		wg.Wait()
		b.want("the answer", b.answers(c), fmt.Sprint(round))
		b.status(posthouse.StatusReady)
	}
}

// TestForksTakeSignalsAgain: the fork takes signals again that were taken after
// the fork point, and no earlier ones.
func TestForksTakeSignalsAgain(t *testing.T) {
	b := newBench(t)
	b.wait("", nil, "go")
	b.send("go", "1")
	first := must.Get(b.a.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}}))(t)
	b.send("go", "2")
	b.want("main", b.answers(b.wait("", nil, "go")), "2")
	fork := must.Get(b.b.Fork(t.Context(), first.Checkpoint.ID, nil))(t)
	b.want("fork", b.answers(b.wait(fork.Branch, nil, "go", "go")), "2 -")
	b.send("go", "3") // each branch has its own queue
	b.want("main again", b.answers(b.wait("", nil, "go", "go")), "3 -")

	again := must.Get(b.b.Fork(t.Context(), first.Checkpoint.ID, nil))(t)
	b.want("a fork of another process", b.answers(b.wait(again.Branch, nil, "go", "go", "go")), "2 3 -")
	away := must.Get(b.b.Fork(t.Context(), first.Checkpoint.ID, &ledger.ForkOptions{Thread: "u"}))(t)
	if away.Program != nil && away.Program["$signals"].Data != nil || must.Get(b.a.Thread(t.Context(), "u"))(t).Taken != nil {
		t.Error("a fork into another thread took the signals of this one")
	}
}

// TestTakesAreForOne: a step takes what is on record, once and in order.
func TestTakesAreForOne(t *testing.T) {
	b := newBench(t)
	b.wait("", nil)
	for i := range 3 {
		b.send("go", fmt.Sprint(i))
	}
	p := must.Get(commit.Pending(t.Context(), b.a.Core(), "t", "", "go", false))(t)
	if len(p) != 3 || string(p[0].Value) != "0" || p[0].By != "alice" {
		t.Fatalf("pending: %v", p)
	}
	take := func(seq uint64) error {
		_, err := b.a.Commit(t.Context(), &ledger.Draft{
			Thread: "t", ConsumedSignals: []posthouse.Take{{Name: "go", Signal: seq}},
			Steps: []posthouse.Step{{Task: "1/n", Name: "signal:go", Value: posthouse.Value{Data: p[0].Value}}},
		})
		return err
	}
	if err := take(p[0].Seq); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{p[0].Seq, 0, p[2].Seq + 1} {
		if err := take(seq); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("taking entry %d: %v, want ErrConflict", seq, err)
		}
	}
	p = must.Get(commit.Pending(t.Context(), b.b.Core(), "t", "", "go", false))(t)
	if len(p) != 2 || string(p[0].Value) != "1" {
		t.Errorf("pending: %v", p)
	}
	p = must.Get(commit.Pending(t.Context(), b.b.Core(), "t", "", "go", true))(t)
	if len(p) != 1 || string(p[0].Value) != "2" {
		t.Errorf("latched: %v", p)
	}
}

// TestSignalIsSentOnce by its id.
func TestSignalIsSentOnce(t *testing.T) {
	b := newBench(t)
	b.wait("", nil)
	s := posthouse.Signal{ID: "mine", Name: "go", Value: json.RawMessage(`{"n":1}`)}
	one := must.Get(b.a.Signal(t.Context(), "t", s))(t)
	two := must.Get(b.b.Signal(t.Context(), "t", s))(t)
	if one.Seq != two.Seq || string(two.Value) != `{"n":1}` || len(must.Get(commit.Pending(t.Context(), b.a.Core(), "t", "", "go", false))(t)) != 1 {
		t.Errorf("sent twice: %v, %v", one, two)
	}
	s.Value = json.RawMessage(`{"n":2}`)
	if _, err := b.b.Signal(t.Context(), "t", s); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("another value under the id: %v, want ErrExists", err)
	}
	if _, err := b.b.Get(t.Context(), "mine"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a signal as a checkpoint: %v, want ErrNotFound", err)
	}
	if _, err := b.b.Gate(t.Context(), "mine"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a signal as a gate: %v, want ErrNotFound", err)
	}
}

// TestEarlySignal begins the log of a thread that is not there yet.
func TestEarlySignal(t *testing.T) {
	b := newBench(t)
	s := posthouse.Signal{Name: "go", Value: json.RawMessage("7")}
	if _, err := b.a.Signal(t.Context(), "t", s); !errors.Is(err, posthouse.ErrNotFound) {
		t.Fatalf("to an unknown thread: %v, want ErrNotFound", err)
	}
	s.Early = true
	must.Get(b.b.Signal(t.Context(), "t", s))(t)
	b.want("the first wait", b.answers(b.wait("", nil, "go")), "7")
	must.Get(retain.DeleteThread(t.Context(), b.b, "t", nil))(t)
	if _, err := b.b.Signal(t.Context(), "t", s); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("after its deletion: %v, want ErrNotFound", err)
	}
}

// TestSignalsThatAreRefused by field.
func TestSignalsThatAreRefused(t *testing.T) {
	b := newBench(t)
	b.wait("", nil)
	for name, c := range map[string]struct {
		s    posthouse.Signal
		want error
	}{
		"no name":       {posthouse.Signal{}, posthouse.ErrInvalid},
		"reserved":      {posthouse.Signal{Name: "$cancel"}, posthouse.ErrInvalid},
		"long name":     {posthouse.Signal{Name: strings.Repeat("n", 201)}, posthouse.ErrInvalid},
		"control":       {posthouse.Signal{Name: "a\nb"}, posthouse.ErrInvalid},
		"no JSON":       {posthouse.Signal{Name: "a", Value: json.RawMessage("{")}, posthouse.ErrInvalid},
		"large":         {posthouse.Signal{Name: "a", Value: json.RawMessage(`"` + strings.Repeat("x", posthouse.MaxSignal) + `"`)}, posthouse.ErrTooLarge},
		"sender's name": {posthouse.Signal{Name: "a", By: "\x00"}, posthouse.ErrInvalid},
		"id":            {posthouse.Signal{Name: "a", ID: "a b"}, posthouse.ErrInvalid},
	} {
		if _, err := b.a.Signal(t.Context(), "t", c.s); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want.(*posthouse.Error).Code)
		}
	}
	for i := range 1000 {
		b.send(fmt.Sprint("n", i), "")
	}
	if _, err := b.a.Signal(t.Context(), "t", posthouse.Signal{Name: "one more"}); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("the 1,001st name: %v, want ErrTooLarge", err)
	}
	b.send("n7", "")
}

// TestWaitsThatAreOverTakeNothing: a signal after a wait's deadline is there for
// the next wait.
func TestWaitsThatAreOverTakeNothing(t *testing.T) {
	b := newBench(t)
	d := &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{
		{Name: "w", Kind: posthouse.GateSignal, Signal: "go", ExpiresAt: b.Now().Add(time.Minute)},
	}}
	c := must.Get(b.a.Commit(t.Context(), d))(t)
	b.pass(time.Minute)
	b.send("go", "1")
	b.want("late", b.answers(c), "-")
	if g := must.Get(commit.Expire(t.Context(), b.b.Core(), c.Gates[0].ID))(t); g.Decision.Verdict != posthouse.Expire {
		t.Errorf("decided: %+v", g.Decision)
	}
	b.want("the next", b.answers(b.wait("", nil, "go")), "1")
}

// TestInboxIsOfPeople: what the runtime waits for is not theirs to see or to
// decide, but they can cancel it.
func TestInboxIsOfPeople(t *testing.T) {
	b := newBench(t)
	c := must.Get(b.a.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{
			{Name: "sleep", Kind: posthouse.GateTimer, ExpiresAt: b.Now().Add(time.Hour)},
			{Name: "go", Kind: posthouse.GateSignal, Signal: "go"},
			{Name: "child", Kind: posthouse.GateThread, ExpiresAt: b.Now().Add(time.Hour)},
			{Name: "pick", Kind: "choice"},
			{Name: "ok?"},
		},
	}))(t)
	list := func(q ledger.GateQuery) (names string) {
		for g, err := range b.b.Gates(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			names += g.Name + " "
		}
		return names
	}
	b.want("inbox", list(ledger.GateQuery{}), "pick ok? ")
	b.want("all", list(ledger.GateQuery{All: true}), "sleep go child pick ok? ")
	b.want("timers", list(ledger.GateQuery{Kind: posthouse.GateTimer}), "sleep ")
	b.want("choices", list(ledger.GateQuery{Kind: "choice"}), "pick ")
	for _, g := range c.Gates[:3] {
		if _, err := b.b.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("%s: %v, want ErrForbidden", g.Name, err)
		}
		if _, err := b.b.Withdraw(t.Context(), g.ID, ledger.Withdrawal{By: "bob", Operator: true}); err != nil {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
	for field, g := range map[string]posthouse.Gate{
		"expiresAt": {Name: "x", Kind: posthouse.GateTimer},
		"name":      {Name: "x", Kind: posthouse.GateSignal},
		"signal":    {Name: "x", Signal: "go"},
		"kind":      {Name: "x", Kind: "a\nb"},
	} {
		_, err := b.a.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{g}})
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
