package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A program is a chain of nodes "1", "2", ... as far as last. A node is a
// function; what it returns is done with it as a model does.
type program struct {
	name string
	l    *ledger.Ledger
	last int
	node func(ctx context.Context, thread string, n int) error

	mu       sync.Mutex
	advances map[string]int // by thread
}

func (p *program) Name() string { return p.name }

func (p *program) count(thread string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.advances[thread]
}

func (p *program) Advance(ctx context.Context, thread, branch string) (err error) {
	p.mu.Lock()
	if p.advances == nil {
		p.advances = map[string]int{}
	}
	p.advances[thread]++
	p.mu.Unlock()
	s, err := session.Begin(ctx, p.l, session.Options{Thread: thread, Branch: branch})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.End(ctx)) }()
	return p.loop(ctx, s)
}

func (p *program) loop(ctx context.Context, s *session.Session) error {
	for {
		h := s.Head()
		if len(h.Next) == 0 || engine.Draining(ctx) {
			return nil
		}
		var n int
		if _, err := fmt.Sscan(h.Next[0], &n); err != nil {
			return err
		}
		task, err := engine.TaskWithKey(ctx, s, s.Key(h.Next[0]), false)
		if err != nil {
			return err
		}
		err = p.node(task.With(ctx), s.Thread(), n)
		c := posthouse.Change{Graph: p.name, Node: h.Next[0], Kind: posthouse.KindNode, Status: posthouse.StatusRunning}
		var d ledger.Draft
		switch {
		case task.Waiting():
			if len(task.Gates().New()) == 0 {
				return nil
			}
			for _, g := range task.Gates().Open() {
				d.Keep = append(d.Keep, g.ID)
			}
			c.Kind, c.Status, c.Next, d.Gates = posthouse.KindWait, posthouse.StatusWaiting, h.Next, task.Gates().New()
		case errors.Is(err, errInfrastructure) || ctx.Err() != nil:
			return err
		case err != nil:
			c.Kind, c.Status, c.Next, c.Error = posthouse.KindFail, posthouse.StatusFailed, h.Next, err.Error()
		case n == p.last:
			c.Status = posthouse.StatusDone
		default:
			c.Next = []string{fmt.Sprint(n + 1)}
		}
		d.Checkpoint = &c
		if _, err := s.Commit(ctx, &d); err != nil {
			return err
		}
		if c.Status != posthouse.StatusRunning {
			return err
		}
	}
}

// errInfrastructure stands for a store that is gone: the node leaves nothing.
var errInfrastructure = errors.New("the network is gone")

// start makes a thread that its program has yet to run, as a crash leaves one.
func (p *program) start(t testing.TB, thread string) *posthouse.Header {
	t.Helper()
	c, err := p.l.Commit(t.Context(), &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: p.name, Next: []string{"1"}, Run: "crashed",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Checkpoint
}

func open(t testing.TB, store posthouse.Store, owner string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(store, &ledger.Options{Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run starts a runner and returns what stops it.
func run(t testing.TB, l *ledger.Ledger, o runner.Options) (*runner.Runner, func() error) {
	t.Helper()
	r, err := runner.New(l, &o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return r, stop
}

func status(t testing.TB, l *ledger.Ledger, thread string) posthouse.Status {
	t.Helper()
	info, err := l.Thread(context.Background(), thread)
	if err != nil {
		t.Fatal(err)
	}
	return info.Status
}

// asking is a node that asks at node 1 and goes on.
func asking(q ...posthouse.Gate) func(context.Context, string, int) error {
	return func(ctx context.Context, _ string, n int) error {
		if n != 1 {
			return nil
		}
		task, _ := engine.From(ctx)
		for _, g := range q {
			if _, err := task.Gates().Ask(ctx, g); err != nil && !errors.Is(err, posthouse.ErrWaiting) {
				return err
			}
		}
		return nil
	}
}

func gates(t testing.TB, l *ledger.Ledger, thread string) (ids []posthouse.ID) {
	t.Helper()
	for g, err := range l.Gates(context.Background(), ledger.GateQuery{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, g.ID)
	}
	return ids
}

func approve(t testing.TB, l *ledger.Ledger, id posthouse.ID) *posthouse.Gate {
	t.Helper()
	g, err := l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// waitIdle waits until every goroutine of the bubble waits.
func waitIdle() { synctest.Wait() }

func sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestStartUpResumesInterruptedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		dead := open(t, store, "dead")
		p := &program{name: "p", l: dead, last: 3, node: func(context.Context, string, int) error { return nil }}
		for i := range 40 {
			p.start(t, fmt.Sprintf("t%d", i))
		}
		other := &program{name: "other", l: dead}
		other.start(t, "foreign")

		p.l = open(t, store, "new")
		_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		for i := range 40 {
			if s := status(t, p.l, fmt.Sprintf("t%d", i)); s != posthouse.StatusDone {
				t.Fatalf("t%d is %s", i, s)
			}
		}
		if s := status(t, p.l, "foreign"); s != posthouse.StatusRunning {
			t.Fatal("a thread of another program was touched:", s)
		}
		sleep(time.Minute)
		if p.count("t0") != 1 {
			t.Fatalf("a thread that is done was advanced %d times", p.count("t0"))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		_, err := store.Slot(t.Context(), posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: "new"}, posthouse.SlotOp{})
		if !errors.Is(err, posthouse.ErrNotFound) {
			t.Fatal("the process left its liveness behind:", err)
		}
	})
}

// A thread that a dead process holds is taken over when its lease's time is up.
func TestTakesOverFromTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := &program{name: "p", l: open(t, mute{store}, "a"), last: 2, node: func(context.Context, string, int) error { return nil }}
		a.start(t, "t")
		if err := open(t, store, "a").Core().Heartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := session.Begin(t.Context(), a.l, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), &ledger.Draft{Steps: []posthouse.Step{{Task: "1/1", Name: "x", Value: posthouse.Value{Codec: "raw"}}}}); err != nil {
			t.Fatal(err)
		}
		// a is killed here, holding the lease.
		b := &program{name: "p", l: open(t, store, "b"), last: 2, node: a.node}
		run(t, b.l, runner.Options{Programs: []posthouse.Program{b}})
		sleep(2900 * time.Millisecond)
		if s := status(t, b.l, "t"); s != posthouse.StatusRunning {
			t.Fatal("taken too early:", s)
		}
		sleep(time.Second)
		if s := status(t, b.l, "t"); s != posthouse.StatusDone {
			t.Fatal("not taken over:", s)
		}
		if _, err := s.Commit(t.Context(), &ledger.Draft{Steps: []posthouse.Step{{Task: "1/1", Name: "y"}}}); !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrFenced) {
			t.Fatal("the dead one wrote:", err)
		}
	})
}

func TestRecordsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := &program{name: "p", l: open(t, store, ""), last: 2}
		due := time.Now().Add(90*time.Minute + 300*time.Millisecond)
		p.node = asking(posthouse.Gate{Name: "ok", ExpiresAt: due})
		p.start(t, "t")
		_, stop := run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		sleep(time.Until(due) - time.Millisecond)
		if s := status(t, p.l, "t"); s != posthouse.StatusWaiting {
			t.Fatal("early:", s)
		}
		id := gates(t, p.l, "t")[0]
		sleep(time.Millisecond)
		g, err := p.l.Gate(t.Context(), id)
		if err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire || g.Decision.At.Sub(due).Abs() > time.Millisecond {
			t.Fatal(g, err)
		}
		if s := status(t, p.l, "t"); s != posthouse.StatusDone {
			t.Fatal(s)
		}

		// The same across a restart that the deadline passes in.
		due = time.Now().Add(time.Hour)
		p.node = asking(posthouse.Gate{Name: "ok", ExpiresAt: due})
		p.start(t, "t2")
		sleep(2 * time.Second)
		id = gates(t, p.l, "t2")[0]
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		sleep(2 * time.Hour)
		p.l = open(t, store, "")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		if g, err := p.l.Gate(t.Context(), id); err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
			t.Fatal(g, err)
		}
		if s := status(t, p.l, "t2"); s != posthouse.StatusDone {
			t.Fatal(s)
		}
	})
}

// An escalation is put on record when it is due; the program is not run for it.
func TestEscalates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{name: "p", l: open(t, memstore.New(), ""), last: 2}
		due := time.Now().Add(90*time.Minute + 300*time.Millisecond)
		p.node = asking(posthouse.Gate{Name: "ok", Assignees: []string{"alice"}, Escalation: &posthouse.Escalation{At: due, To: []string{"boss"}}})
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		ran := p.count("t")
		sleep(time.Until(due) + time.Millisecond)
		g, err := p.l.Gate(t.Context(), gates(t, p.l, "t")[0])
		if err != nil || g.Decision != nil || len(g.Assignments) != 1 || g.Assignments[0].At.Sub(due).Abs() > time.Millisecond {
			t.Fatal(g, err)
		}
		sleep(time.Hour)
		if p.count("t") != ran {
			t.Error("the program ran though nothing was decided")
		}
	})
}

// A reminder is put on record when it is due, by one of two runners, and ends with the decision; the
// program is not run for it.
func TestReminds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := &program{name: "p", l: open(t, store, ""), last: 2}
		start := time.Now()
		p.node = asking(posthouse.Gate{Name: "ok", Remind: []time.Time{start.Add(time.Hour), start.Add(2 * time.Hour), start.Add(9 * time.Hour)}})
		p.start(t, "t")
		run(t, p.l, runner.Options{Programs: []posthouse.Program{p}})
		run(t, open(t, store, "other"), runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		ran, id := p.count("t"), gates(t, p.l, "t")[0]
		for n := range 3 {
			g, err := p.l.Gate(t.Context(), id)
			if err != nil || len(g.Notices) != n || n > 0 && g.Notices[n-1].At.Sub(start.Add(time.Duration(n)*time.Hour)).Abs() > time.Second {
				t.Fatalf("after %s: %+v, %v, want %d reminders", time.Since(start), g.Notices, err, n)
			}
			sleep(time.Hour + time.Second)
		}
		if p.count("t") != ran {
			t.Error("the program ran though nothing was decided")
		}
		if _, err := p.l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Reject, By: "alice"}); err != nil {
			t.Fatal(err)
		}
		sleep(24 * time.Hour)
		if g, err := p.l.Gate(t.Context(), id); err != nil || len(g.Notices) != 2 {
			t.Errorf("after the decision: %+v, %v", g.Notices, err)
		}
	})
}

func TestFailedThreadWaitsToBeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		var log bytes.Buffer
		broken := true
		p := &program{name: "p", l: l, last: 2, node: func(_ context.Context, thread string, n int) error {
			switch {
			case broken && thread == "t" && n == 1:
				return errors.New("no such order")
			case broken && thread == "panics":
				panic("oh no")
			}
			return nil
		}}
		for _, thread := range []string{"t", "panics", "fine"} {
			p.start(t, thread)
		}
		r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		waitIdle()
		if s := status(t, l, "fine"); s != posthouse.StatusDone {
			t.Fatal("one thread's failure stopped another:", s)
		}
		sleep(time.Hour)
		if n := p.count("t"); n != 1 || status(t, l, "t") != posthouse.StatusFailed {
			t.Fatalf("advanced %d times, %s", n, status(t, l, "t"))
		}
		h, err := r.Wait(t.Context(), "t", "", 0)
		if err != nil || h.Status != posthouse.StatusFailed || h.Error != "no such order" {
			t.Fatal(h, err)
		}
		// A panic in Advance leaves nothing in the log: the thread is tried
		// again, ever more rarely.
		if n := p.count("panics"); n < 100 || n > 140 {
			t.Fatalf("advanced %d times in an hour", n)
		}
		broken = false
		if err := r.Resume(t.Context(), "t", "main"); err != nil {
			t.Fatal(err)
		}
		h, err = r.Wait(t.Context(), "t", "", h.Seq)
		if err != nil || h.Status != posthouse.StatusDone {
			t.Fatal(h, err)
		}
		sleep(time.Minute)
		if s := status(t, l, "panics"); s != posthouse.StatusDone {
			t.Fatal(s)
		}
		if !strings.Contains(log.String(), "no such order") || !strings.Contains(log.String(), "oh no") || strings.Count(log.String(), "no such order") != 1 {
			t.Fatal(log.String())
		}
	})
}

func TestResumeThatLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		fail := errors.New("no such order")
		p := &program{name: "p", l: l, last: 2}
		p.node = func(context.Context, string, int) error { return fail }
		p.start(t, "t")
		r, stop := run(t, l, runner.Options{Programs: []posthouse.Program{p}})
		waitIdle()
		h, err := r.Wait(t.Context(), "t", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		fail = errInfrastructure
		if err := r.Resume(t.Context(), "t", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(t.Context(), "t", "", h.Seq); !errors.Is(err, errInfrastructure) {
			t.Fatal(err)
		}
		for name, want := range map[string]error{"t2": posthouse.ErrNotFound, "t\n2": posthouse.ErrInvalid} {
			if err := r.Resume(t.Context(), name, ""); !errors.Is(err, want) {
				t.Error(err)
			}
			if _, err := r.Wait(t.Context(), name, "", 0); !errors.Is(err, want) {
				t.Error(err)
			}
		}
		if err := r.Resume(t.Context(), "t", "nobranch"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Error(err)
		}
		if _, err := r.Wait(t.Context(), "t", "nobranch", 0); !errors.Is(err, posthouse.ErrNotFound) {
			t.Error(err)
		}
		(&program{name: "other", l: l}).start(t, "foreign")
		if err := r.Resume(t.Context(), "foreign", ""); !errors.Is(err, posthouse.ErrUnsupported) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := r.Wait(ctx, "foreign", "", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("somebody else's program may still run it:", err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := r.Resume(t.Context(), "t", ""); !errors.Is(err, posthouse.ErrClosed) {
			t.Error(err)
		}
		if _, err := r.Wait(t.Context(), "foreign", "", 0); !errors.Is(err, posthouse.ErrClosed) {
			t.Error(err)
		}
		if err := r.Run(t.Context()); !errors.Is(err, posthouse.ErrClosed) {
			t.Error(err)
		}
		r.Kick("t")
	})
}

func TestConcurrencyIsBoundedAndSerialPerThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		var mu sync.Mutex
		now, most := map[string]int{}, 0
		p := &program{name: "p", l: l, last: 3, node: func(_ context.Context, thread string, _ int) error {
			mu.Lock()
			now[thread]++
			if now[thread] > 1 {
				t.Error("a thread runs twice at once")
			}
			n := 0
			for _, c := range now {
				n += c
			}
			most = max(most, n)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			now[thread]--
			mu.Unlock()
			return nil
		}}
		for i := range 20 {
			p.start(t, fmt.Sprintf("t%d", i))
		}
		r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}, Concurrency: 4})
		for range 30 {
			for i := range 20 {
				r.Kick(fmt.Sprintf("t%d", i))
			}
			sleep(time.Second)
		}
		if most != 4 {
			t.Fatalf("%d at once", most)
		}
		for i := range 20 {
			if s := status(t, l, fmt.Sprintf("t%d", i)); s != posthouse.StatusDone {
				t.Fatalf("t%d is %s", i, s)
			}
		}
	})
}

func TestBadOptions(t *testing.T) {
	l := open(t, memstore.New(), "")
	p := &program{name: "p"}
	for _, o := range []*runner.Options{
		{Concurrency: -1}, {Poll: -1}, {DrainTimeout: -1},
		{Programs: []posthouse.Program{p, p}}, {Programs: []posthouse.Program{&program{}}}, {Programs: []posthouse.Program{nil}},
	} {
		if _, err := runner.New(l, o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := runner.New(nil, nil); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
	if _, err := runner.New(l, nil); err != nil {
		t.Error(err)
	}
}
