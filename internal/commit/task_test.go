package commit_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func newLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// open opens a gate in a new checkpoint of a thread.
func open(t *testing.T, l *ledger.Ledger, g posthouse.Gate) (*posthouse.Gate, error) {
	t.Helper()
	done, err := l.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
	})
	if err != nil {
		return nil, err
	}
	return &done.Gates[0], nil
}

func TestCallsAreChecked(t *testing.T) {
	l := newLedger(t)
	good := func() posthouse.Gate {
		return posthouse.Gate{Name: "task:x", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "x"}}
	}
	long := strings.Repeat("x", 10_000)
	for field, spoil := range map[string]func(*posthouse.Gate){
		"call":       func(g *posthouse.Gate) { g.Kind = posthouse.GateApproval },
		"task":       func(g *posthouse.Gate) { g.Call.Task = "" },
		"group":      func(g *posthouse.Gate) { g.Call.Group = long },
		"paused":     func(g *posthouse.Gate) { g.Call.Paused = "\x00" },
		"failure":    func(g *posthouse.Gate) { g.Call.Failure = long },
		"trace":      func(g *posthouse.Gate) { g.Call.Trace = map[string]string{"a": long} },
		"notBefore":  func(g *posthouse.Gate) { g.Call.NotBefore = time.UnixMilli(posthouse.MaxMillis + 1) },
		"continued":  func(g *posthouse.Gate) { g.Call.Continued = json.RawMessage("{") },
		"attempts":   func(g *posthouse.Gate) { g.Call.Limits.MaxAttempts = 1001 },
		"iterations": func(g *posthouse.Gate) { g.Call.Limits.Iterations = -1 },
		"backoff":    func(g *posthouse.Gate) { g.Call.Limits.InitialDelay = -1 },
		"maxBackoff": func(g *posthouse.Gate) { g.Call.Limits.MaxDelay = -1 },
		"timeout":    func(g *posthouse.Gate) { g.Call.Limits.Timeout = 1 << 62 },
		"duration":   func(g *posthouse.Gate) { g.Call.Limits.Duration = -1 },
		"loopDelay":  func(g *posthouse.Gate) { g.Call.Limits.LoopDelay = -1 },
		"strategy":   func(g *posthouse.Gate) { g.Call.Limits.Backoff = 3 },
		"jitter":     func(g *posthouse.Gate) { g.Call.Limits.Jitter = math.NaN() },
	} {
		g := good()
		spoil(&g)
		var e *posthouse.Error
		if _, err := open(t, l, g); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	none, many := good(), good()
	none.Call, many.Call.Trace = nil, map[string]string{}
	for i := range 9 {
		many.Call.Trace[strings.Repeat("x", i+1)] = "v"
	}
	for _, g := range []posthouse.Gate{none, many} {
		if _, err := open(t, l, g); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", g.Call, err)
		}
	}
}

func TestOutcomesAreChecked(t *testing.T) {
	l := newLedger(t)
	g, err := open(t, l, posthouse.Gate{Name: "task:x", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for field, o := range map[string]commit.TaskOutcome{
		"by":     {Output: json.RawMessage("1")},
		"failed": {By: "worker:w", Failed: strings.Repeat("x", 10_000)},
		"output": {By: "worker:w"},
	} {
		var e *posthouse.Error
		if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &o); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, output := range []string{"{", `{"a":1,"a":2}`} {
		if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{By: "worker:w", Output: json.RawMessage(output)}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", output, err)
		}
	}
	large := json.RawMessage(`"` + strings.Repeat("x", 9<<20) + `"`)
	if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{By: "worker:w", Output: large}); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("a large output: %v", err)
	}
	asked, err := open(t, l, posthouse.Gate{Name: "ship?"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: asked.ID}, &commit.TaskOutcome{By: "worker:w", Output: json.RawMessage("1")}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a worker answers what people are asked: %v", err)
	}
	if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: "gate-x"}, &commit.TaskOutcome{By: "worker:w", Output: json.RawMessage("1")}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestTasksExpire(t *testing.T) {
	now := time.Now()
	l, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g, err := open(t, l, posthouse.Gate{Name: "task:x", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "x"}, ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if _, _, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{By: "worker:w", Output: json.RawMessage("1")}); !errors.Is(err, posthouse.ErrExpired) {
		t.Errorf("%v", err)
	}
	g, err = l.Gate(t.Context(), g.ID)
	if err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestTheNextAttemptTakesTheGatesPlace: in one entry, while the branch waits.
func TestTheNextAttemptTakesTheGatesPlace(t *testing.T) {
	l := newLedger(t)
	g, err := open(t, l, posthouse.Gate{Name: "task:x", Kind: posthouse.GateTask, Payload: json.RawMessage("7"), Call: &posthouse.TaskCall{Task: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	before, err := l.Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	old, next, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{
		By: "worker:w", Why: "no route", Next: commit.NextAttempt(g.Call, l.Now(), "no route", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case after.Tail.Seq != before.Tail.Seq+1, after.Status != posthouse.StatusWaiting, len(after.Waiting) != 1, after.Waiting[0].ID != next.ID:
		t.Errorf("after %+v", after)
	case old.Decision.Successor != next.ID, old.Decision.Reason != "no route", old.Decision.By != "worker:w":
		t.Errorf("old.Decision %+v", old.Decision)
	case next.Supersedes != g.ID, next.Call.ID != g.ID, next.Call.Attempt != 2, string(next.Payload) != "7", next.Decision != nil:
		t.Errorf("next %+v, next.Call %+v", next, next.Call)
	}
}

// TestStrategies: the wait before each attempt is as the limits say, less what is drawn.
func TestStrategies(t *testing.T) {
	const s = time.Second
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		limits posthouse.TaskLimits
		want   []time.Duration
	}{
		"none":        {posthouse.TaskLimits{}, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, time.Minute, time.Minute}},
		"exponential": {posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Exponential, InitialDelay: 3 * s, MaxDelay: 10 * s}}, []time.Duration{3 * s, 6 * s, 10 * s}},
		"linear":      {posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Linear, InitialDelay: 3 * s, MaxDelay: 10 * s}}, []time.Duration{3 * s, 6 * s, 9 * s, 10 * s}},
		"fixed":       {posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Fixed, InitialDelay: 3 * s}}, []time.Duration{3 * s, 3 * s, 3 * s}},
	} {
		for _, jitter := range []float64{0, 0.25, 1} {
			c.limits.MaxAttempts, c.limits.Jitter = 1000, jitter
			call, shorter := &posthouse.TaskCall{Task: "x", Attempt: 1, Limits: c.limits}, false
			for i, want := range c.want {
				call = commit.NextAttempt(call, now, "x", 0)
				wait := call.NotBefore.Sub(now)
				if wait > want || wait < time.Duration(float64(want)*(1-jitter)) {
					t.Errorf("%s with jitter %g: %s before attempt %d, want %s", name, jitter, wait, i+2, want)
				}
				shorter = shorter || wait < want
			}
			if shorter != (jitter > 0) {
				t.Errorf("%s with jitter %g: shorter is %v", name, jitter, shorter)
			}
		}
	}
	c := &posthouse.TaskCall{Task: "x", Attempt: 1, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Fixed, Jitter: 1}}}
	if n := commit.NextAttempt(c, now, "x", time.Hour); !n.NotBefore.Equal(now.Add(time.Hour)) {
		t.Errorf("a wait that the handler named: %+v", n)
	}
}

func TestAttemptsAndIterations(t *testing.T) {
	now := time.Unix(1000, 0)
	c := &posthouse.TaskCall{Task: "x", Attempt: 1, Began: now, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 10, MaxDelay: 5 * time.Second}, Duration: time.Hour, Iterations: 2}}
	var waits []time.Duration
	for next := c; next != nil; {
		next = commit.NextAttempt(next, now, "x", 0)
		if next != nil {
			waits = append(waits, next.NotBefore.Sub(now))
		}
	}
	if len(waits) != 9 || waits[0] != time.Second || waits[1] != 2*time.Second || waits[2] != 4*time.Second || waits[8] != 5*time.Second {
		t.Errorf("waits %v", waits)
	}
	p := commit.Pause(c, now, "nap", time.Minute)
	if p.Paused != "nap" || p.Attempt != 1 || !p.NotBefore.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v", p)
	}
	n, err := commit.NextIteration(p, now, json.RawMessage("1"))
	if err != nil || n.Iteration != 1 || n.Paused != "" || !n.NotBefore.IsZero() {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := commit.NextIteration(n, now, nil); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := commit.NextIteration(c, now.Add(2*time.Hour), nil); !errors.Is(err, posthouse.ErrExpired) {
		t.Errorf("%v", err)
	}
	c.Limits.LoopDelay = 30 * time.Minute
	if n, err := commit.NextIteration(c, now.Add(30*time.Minute), nil); err != nil || !n.NotBefore.Equal(now.Add(time.Hour)) {
		t.Errorf("one that begins in time: %+v, %v", n, err)
	}
	if _, err := commit.NextIteration(c, now.Add(31*time.Minute), nil); !errors.Is(err, posthouse.ErrExpired) {
		t.Errorf("one that would begin too late: %v", err)
	}
}

// A task's limits name what they count, and advise what helps.
func TestLimitsOfIterationsSayWhatTheyCount(t *testing.T) {
	c := &posthouse.TaskCall{Task: "sum", Iteration: 2, Limits: posthouse.TaskLimits{Iterations: 3, Duration: time.Second}, Began: time.UnixMilli(0)}
	_, err := commit.NextIteration(c, time.UnixMilli(0), nil)
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != posthouse.CodeTooLarge || e.Field != "iterations" || !strings.Contains(e.Message, "would be 4; the limit is 3") || strings.Contains(e.Error(), "bytes") || strings.Contains(e.Error(), "max-state") {
		t.Errorf("%v", err)
	}
	c.Iteration = 0
	_, err = commit.NextIteration(c, time.UnixMilli(2000), nil)
	if !errors.As(err, &e) || e.Code != posthouse.CodeExpired || !strings.Contains(e.Error(), "duration of 1s would be over") {
		t.Errorf("%v", err)
	}
}

// Only what Options.MaxState limits advises to raise it.
func TestOnlyStatesAdviseMaxState(t *testing.T) {
	l := newLedger(t)
	_, err := l.Signal(t.Context(), "t", posthouse.Signal{Name: "go", Value: json.RawMessage(`"` + strings.Repeat("x", posthouse.MaxSignal) + `"`)})
	if !errors.Is(err, posthouse.ErrTooLarge) || strings.Contains(err.Error(), "max-state") {
		t.Errorf("%v", err)
	}
	_, err = l.Save(t.Context(), posthouse.Root("t", posthouse.State{"state": {Codec: "raw", Data: make([]byte, posthouse.DefaultMaxState+1)}}), nil)
	if !errors.Is(err, posthouse.ErrTooLarge) || !strings.Contains(err.Error(), "max-state") {
		t.Errorf("%v", err)
	}
}
