package demo

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/task/standalone"
)

// Fill writes the week before now: threads of the programs, and decisions of people. The clock of
// env.Ledger, which has an empty store, stands where at puts it. A runner moves the threads, one at a
// time and only when it is told, so that a seed gives one week.
func Fill(ctx context.Context, env *app.Env, at func(time.Time)) error {
	return fill(ctx, env.Ledger, at, time.Now(), 1)
}

func fill(ctx context.Context, l *ledger.Ledger, at func(time.Time), now time.Time, seed uint64) error {
	w := &week{ctx: ctx, ledger: l, at: at, end: now.Truncate(time.Millisecond), random: rand.New(rand.NewPCG(seed, seed)), programs: map[string]posthouse.JSONStarter{}, asked: map[string]posthouse.ID{}}
	w.set(now.Add(-7 * 24 * time.Hour))
	var err error
	w.apps, err = open(l, &World{Do: func(context.Context, Deed) error { return nil }, Spend: w.spend, Fail: w.fail, Park: -1, Beside: 1})
	if err != nil {
		return err
	}
	w.tasks, err = standalone.Open(l)
	if err != nil {
		return err
	}
	all := append(w.apps.programs(), w.tasks.Program())
	for _, p := range w.apps.programs() {
		w.programs[p.Name()] = p.(posthouse.JSONStarter)
	}
	w.runner, err = runner.New(l, &runner.Options{Programs: all, NoWatch: true, Poll: 1000 * time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- w.runner.Run(ctx) }()
	w.write()
	err = w.run()
	stop()
	return errors.Join(err, <-ran)
}

// A week is what happens before now, in the order of time.
type week struct {
	ctx      context.Context
	ledger   *ledger.Ledger
	runner   *runner.Runner
	programs map[string]posthouse.JSONStarter
	apps     *apps
	tasks    *standalone.Starter
	random   *rand.Rand
	at       func(time.Time) // sets the Ledger's clock
	now, end time.Time
	events   events
	planned  int // events so far
	faults   []fault
	asked    map[string]posthouse.ID // by thread: the checkpoint of the question that was decided last
}

// An event is something that somebody does at a time, to a thread.
type event struct {
	at     time.Time
	number int // of two at one time, the one that was planned first
	thread string
	rests  bool // no program goes on then
	do     func() error
}

type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].number, e[j].number)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// plan has something happen at a time. An event after the week is left out.
func (w *week) plan(at time.Time, thread string, do func() error) *event {
	w.planned++
	e := &event{at: at, number: w.planned, thread: thread, do: do}
	if at.Before(w.end) {
		heap.Push(&w.events, e)
	}
	return e
}

// run lets the week happen.
func (w *week) run() error {
	for w.events.Len() > 0 {
		e := heap.Pop(&w.events).(*event)
		w.set(e.at)
		if err := e.do(); err != nil {
			return fmt.Errorf("thread %s at %s: %w", e.thread, e.at.Format(time.RFC3339), err)
		}
		if e.rests {
			continue
		}
		if err := w.move(e.thread); err != nil {
			return fmt.Errorf("thread %s at %s: %w", e.thread, e.at.Format(time.RFC3339), err)
		}
	}
	return nil
}

// move lets the runner look at a thread, and plans when it looks again: when a deadline passes.
func (w *week) move(thread string) error {
	w.runner.Kick(thread)
	if _, err := w.runner.Wait(w.ctx, thread, "", 0); err != nil {
		return err
	}
	info, err := w.ledger.Thread(w.ctx, thread)
	if err != nil {
		return err
	}
	if info.Due > 0 {
		w.plan(time.UnixMilli(int64(info.Due)), thread, func() error { return nil })
	}
	return nil
}

// set puts the clock to a time, and never back.
func (w *week) set(t time.Time) {
	if t.After(w.now) {
		w.now = t
		w.at(t)
	}
}

func (w *week) spend(_ context.Context, d time.Duration) error {
	w.set(w.now.Add(d))
	return nil
}

// A fault is what goes wrong in a call, as often as it says.
type fault struct {
	call, about string // about is part of the content
	err         error
	times       int
}

func (w *week) fail(call string, content any) error {
	said := fmt.Sprint(content)
	for i := range w.faults {
		if f := &w.faults[i]; f.times > 0 && f.call == call && strings.Contains(said, f.about) {
			f.times--
			return f.err
		}
	}
	return nil
}

// begin has somebody begin a run.
func (w *week) begin(at time.Time, program, thread, by string, labels map[string]string, input any) *event {
	return w.plan(at, thread, func() error {
		in, err := json.Marshal(input)
		if err == nil && program == "refund" { // which takes a text
			in, err = json.Marshal(string(in))
		}
		if err != nil {
			return err
		}
		_, err = w.programs[program].StartJSON(w.ctx, thread, in, &posthouse.StartOptions{By: by, Labels: labels})
		return err
	})
}

// decide has somebody decide, or vote on, what a thread asks.
func (w *week) decide(at time.Time, thread, by string, verdict posthouse.Verdict, reason string) *event {
	return w.decideWith(at, thread, posthouse.Decision{By: by, Verdict: verdict, Reason: reason})
}

// decideWith is decide for verdicts with a value.
func (w *week) decideWith(at time.Time, thread string, d posthouse.Decision) *event {
	return w.plan(at, thread, func() error {
		g, err := w.question(thread)
		if err != nil {
			return err
		}
		w.asked[thread] = g.Checkpoint
		_, err = w.ledger.Decide(w.ctx, g.ID, d)
		return err
	})
}

// question returns the newest open question of a thread.
func (w *week) question(thread string) (last *posthouse.Gate, err error) {
	for g, err := range w.ledger.Gates(w.ctx, ledger.GateQuery{Thread: thread}) {
		if err != nil {
			return nil, err
		}
		last = g
	}
	if last == nil {
		return nil, posthouse.NotFound("question", thread)
	}
	return last, nil
}

// delegate has somebody hand on their right to decide.
func (w *week) delegate(at time.Time, thread, by, to, reason string) {
	w.plan(at, thread, func() error {
		g, err := w.question(thread)
		if err == nil {
			_, err = w.ledger.Delegate(w.ctx, g.ID, posthouse.Delegation{By: by, To: to, Reason: reason})
		}
		return err
	})
}

// fork has somebody fork a thread at the question that was decided last, with another state. A fork
// that does not go on is one that somebody looks at first.
func (w *week) fork(at time.Time, thread, into, by string, change posthouse.State, goesOn bool) {
	w.plan(at, cmp.Or(into, thread), func() error {
		f, err := w.ledger.Fork(w.ctx, w.asked[thread], &ledger.ForkOptions{Thread: into, By: by, Patch: change})
		if err == nil && goesOn {
			err = w.runner.Resume(w.ctx, f.Thread, f.Branch)
		}
		return err
	})
}

// resume has somebody resume a thread that was interrupted, or failed.
func (w *week) resume(at time.Time, thread string) {
	w.plan(at, thread, func() error { return w.runner.Resume(w.ctx, thread, posthouse.MainBranch) })
}

// cancel has somebody cancel a run.
func (w *week) cancel(at time.Time, thread, by, reason string) {
	w.plan(at, thread, func() error {
		_, err := w.ledger.Cancel(w.ctx, thread, &ledger.CancelOptions{By: by, Reason: reason})
		return err
	})
}

// day returns a time of a day of the week: 6 days ago is the first, 1 is yesterday.
func (w *week) day(ago, hour, minute int) time.Time {
	y, m, d := w.end.Date()
	return time.Date(y, m, d-ago, hour, minute, w.random.IntN(60), w.random.IntN(1000)*int(time.Millisecond), w.end.Location())
}

// ago returns a time before now.
func (w *week) ago(d time.Duration) time.Time { return w.end.Add(-d) }
