package posthousetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/step"
)

// TestPrograms runs a flow, a graph and a coordinator to their end.
func TestPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(*shop) posthousetest.Open
		input any
		acts  bool
	}{
		"refund": {func(s *shop) posthousetest.Open { return s.open }, order{"1", 40}, true},
		"basket": {func(s *shop) posthousetest.Open { return s.baskets }, basket{Order: order{"1", 40}}, true},
		"desk":   {func(s *shop) posthousetest.Open { return s.desk }, "please", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			env := posthousetest.New(t, c.open(s), nil)
			env.Answer("refund", posthousetest.Approve("ann"))
			th := env.Start(name, "order-1", c.input).Done()
			if call := s.bank.Once(); call.In.Amount != 40 || c.acts != (call.Grant != nil) {
				t.Errorf("the bank was called with %+v", call)
			}
			if c.acts {
				if f := th.Acted("pay"); f.By() != "ann" {
					t.Errorf("it acted under the decision of %q", f.By())
				}
			}
			if asked := th.Asked(); !slices.Equal(asked, []string{"refund"}) {
				t.Errorf("it asked %q", asked)
			}
			th.CheckReplay()
		})
	}
}

// TestAnswers gives each verdict, before and after the question, by name and in any order.
func TestAnswers(t *testing.T) {
	s := newShop(t)
	env := posthousetest.New(t, s.open, nil)
	th := env.Start("refund", "rejected", order{"1", 40})
	if g := th.Question("refund"); string(g.Payload) != `{"ID":"1","Amount":40}` {
		t.Errorf("people are shown %s", g.Payload)
	}
	s.bank.Times(0)
	env.Answer("", posthousetest.Reject("ann", "too late"))
	th.Done().NotActed("pay")
	var out string
	if th.Decode("output", &out); out != "no" {
		t.Errorf("the output is %q", out)
	}
	env.Answer("refund", posthousetest.Edit("bob", order{"1", 10}))
	th = env.Start("refund", "edited", order{"1", 40}).Done()
	if f := th.Acted("pay"); f.By() != "bob" || s.bank.Once().In.Amount != 10 {
		t.Errorf("approved by %s, paid %+v", f.By(), s.bank.Calls())
	}
}

// TestFailuresSayWhatWasAsked fails tests in each way, and reads what they say.
func TestFailuresSayWhatWasAsked(t *testing.T) {
	begin := func(t posthousetest.TB) (*posthousetest.Env, *shop) {
		s := newShop(t)
		return posthousetest.New(t, s.open, nil), s
	}
	says(t, tells(t, func(t posthousetest.TB) {
		env, _ := begin(t)
		env.Start("refund", "order-1", order{"1", 40})
	}), `nobody answered question "refund" (Refund it?) about {"ID":"1","Amount":40} of thread order-1`, "thread order-1 is waiting")
	says(t, tells(t, func(t posthousetest.TB) {
		env, _ := begin(t)
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Answer("refnud", posthousetest.Approve("bob"))
		env.Start("refund", "order-1", order{"1", 40})
	}), `no question took the answer "refnud": approve by bob`, `asked question "refund"`, "approve by ann")
	says(t, tells(t, func(t posthousetest.TB) {
		env, _ := begin(t)
		env.Start("refund", "order-1", order{"1", 40}).Done()
	}), `thread order-1 is "waiting", want "done"`, `waits for question "refund"`, "until 2026-01-07T09:00:00Z")
	says(t, tells(t, func(t posthousetest.TB) {
		env, s := begin(t)
		s.model.Fail(errors.New("the model is away"))
		env.Start("refund", "order-1", order{"1", 40}).Done()
	}), `is "failed"`, "the model is away")
	says(t, tells(t, func(t posthousetest.TB) {
		env, _ := begin(t)
		env.Answer("refund", posthousetest.Approve("test")) // who asks
		env.Start("refund", "order-1", order{"1", 40})
	}), "approve by test is refused")
	says(t, tells(t, func(t posthousetest.TB) {
		env, s := begin(t)
		env.Answer("refund", posthousetest.Reject("ann", ""))
		th := env.Start("refund", "order-1", order{"1", 40})
		th.Acted("pay")
		_ = s
	}), `0 executed effects "pay"`)
	says(t, tells(t, func(t posthousetest.TB) {
		env, s := begin(t)
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "order-1", order{"1", 40})
		env.Answer("refund", posthousetest.Approve("ann"))
		env.Start("refund", "order-2", order{"1", 40})
		s.bank.Once()
	}), "tool bank acted more than once", `bank {"ID":"1","Amount":40} with key order-2/`)
	for name, do := range map[string]func(*posthousetest.Env){
		`no program "refnud"`:                  func(e *posthousetest.Env) { e.Start("refnud", "t", nil) },
		"input":                                func(e *posthousetest.Env) { e.Start("refund", "t", 7) },
		`does not ask "x"`:                     func(e *posthousetest.Env) { e.Thread("t").Question("x") },
		"no thread t to replay":                func(e *posthousetest.Env) { e.Thread("t").CheckReplay() },
		"the clock does not go back":           func(e *posthousetest.Env) { e.Advance(-1) },
		"no run came before x":                 func(e *posthousetest.Env) { e.Kill(posthousetest.Before("x")) },
		"a kill that was not reached":          func(e *posthousetest.Env) { e.Kill(posthousetest.After("x")); e.Kill(posthousetest.After("y")) },
		"thread t: ":                           func(e *posthousetest.Env) { e.Cancel("t") },
		`cancelling thread "t"`:                func(e *posthousetest.Env) { e.Cancel("t") },
		`posthousetest: thread t: posthouse: `: func(e *posthousetest.Env) { e.Thread("t").Head() },
	} {
		if name == "thread t: " {
			continue
		}
		says(t, tells(t, func(t posthousetest.TB) { env, _ := begin(t); do(env) }), name)
	}
}

// TestTime moves the clock over a sleep, a deadline, a reminder, an escalation and retries.
func TestTime(t *testing.T) {
	flaky := posthousetest.NewTool[string, string](t, "flaky", nil)
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("slow", func(ctx context.Context, in string) (string, error) {
			if err := step.Sleep(ctx, "cool off", 30*24*time.Hour); err != nil {
				return "", err
			}
			if _, err := step.DoWith(ctx, "flaky", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: 4 * time.Second, Backoff: posthouse.Exponential}},
				func(ctx context.Context) (string, error) { return flaky.Call(ctx, in) }); err != nil {
				return "", err
			}
			a, err := gate.Ask[struct{}](ctx, gate.Question{
				Name: "ship", Expires: 48 * time.Hour, Assignees: []string{"ann"}, Remind: []gate.Reminder{{Before: time.Hour}},
				Escalate: &gate.Escalation{After: 4 * time.Hour, To: []string{"bob"}},
			})
			return string(a.Verdict), err
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	flaky.Fail(errors.New("1"), errors.New("2"), errors.New("3"))
	began := env.Now()
	th := env.Start("slow", "t", "x").Must(posthouse.StatusWaiting)
	env.Advance(30*24*time.Hour - time.Second)
	flaky.Times(0)
	env.Advance(time.Second)
	// The first two waits are short, the third parks the thread for 16 s.
	flaky.Times(3)
	if took := env.Now().Sub(began); took != 30*24*time.Hour+12*time.Second {
		t.Errorf("short waits moved the clock to %s after the start", took)
	}
	env.Advance(16 * time.Second)
	flaky.Times(4)
	g := th.Question("ship")
	if g, err := env.Ledger().Decide(t.Context(), g.ID, posthousetest.Approve("bob")); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("before the escalation bob decides: %+v, %v", g, err)
	}
	env.Advance(47 * time.Hour)
	g = th.Question("ship")
	if len(g.Notices) != 1 || len(g.Assignments) != 1 {
		t.Errorf("on record are %d reminders and %d escalations", len(g.Notices), len(g.Assignments))
	}
	env.Advance(time.Hour)
	var out string
	if th.Done().Decode("output", &out); out != string(posthouse.Expire) {
		t.Errorf("the verdict is %q", out)
	}
	th.CheckReplay()
}

// TestSignalsAndCancels gives what is no answer.
func TestSignalsAndCancels(t *testing.T) {
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("parcel", func(ctx context.Context, _ string) (string, error) {
			return step.Signal[string](ctx, "returned", step.SignalOptions{Timeout: time.Hour})
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	env.Signal("early", "returned", "on Monday")
	var out string
	if env.Start("parcel", "early", "").Done().Decode("output", &out); out != "on Monday" {
		t.Errorf("the output is %q", out)
	}
	th := env.Start("parcel", "late", "")
	env.Signal("late", "returned", "on Tuesday")
	th.Done()
	th = env.Start("parcel", "cancelled", "")
	env.Cancel("cancelled")
	th.Must(posthouse.StatusCancelled)
	env.Start("parcel", "over", "")
	env.Advance(time.Hour)
	env.Thread("over").Must(posthouse.StatusFailed)
	if s := env.Thread("none").Status(); s != "" {
		t.Errorf("a thread that is not there is %q", s)
	}
}

// TestQuorum gives votes, and a kind of their own to the last.
func TestQuorum(t *testing.T) {
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("release", func(ctx context.Context, _ string) (bool, error) {
			a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "release", FourEyes: true})
			return a.Approved(), err
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	th := env.StartBy("release", "t", "", "carl")
	env.Answer("release", posthousetest.Approve("ann"))
	th.Must(posthouse.StatusWaiting)
	env.Answer("release", posthousetest.Approve("bob"))
	th.Done()
}

// TestHandle does tasks in place of a worker, with attempts that fail.
func TestHandle(t *testing.T) {
	gpu := posthousetest.NewTool(t, "gpu", func(_ context.Context, in string) (int, error) { return len(in), nil })
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("film", func(ctx context.Context, name string) (int, error) {
			return step.Remote[int](ctx, "transcribe", "transcribe", name)
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, nil)
	th := env.Start("film", "one", "abc").Must(posthouse.StatusWaiting)
	gpu.Fail(errors.New("out of memory"))
	posthousetest.Handle(env, "transcribe", gpu.Call)
	th.Must(posthouse.StatusWaiting)
	env.Advance(time.Minute)
	var out int
	if th.Done().Decode("output", &out); out != 3 {
		t.Errorf("the output is %d", out)
	}
	gpu.Fail(errors.New("1"), errors.New("2"), errors.New("3"))
	th = env.Start("film", "two", "abc")
	env.Advance(time.Hour)
	th.Must(posthouse.StatusFailed)
	gpu.Times(5)
}

// TestEffectsOfEachKind lists one with a license and one without.
func TestEffectsOfEachKind(t *testing.T) {
	s := newShop(t)
	env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
		app, err := flow.New("both", func(ctx context.Context, o order) (string, error) {
			if _, err := step.DoWith(ctx, "log", step.Options{Effect: posthouse.EffectExternal}, func(ctx context.Context) (bool, error) { return s.mail.Call(ctx, "x") }); err != nil {
				return "", err
			}
			return s.refund(ctx, o)
		}).Open(led, nil)
		return []posthouse.Program{app}, err
	}, &posthousetest.Options{Start: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	env.Answer("refund", posthousetest.Approve("ann"))
	all := env.Start("both", "t", order{"1", 40}).Done().Effects()
	if len(all) != 2 || all[0].By() != "" || all[1].By() != "ann" || all[1].Status != grants.Executed || env.Now().Year() != 2030 {
		t.Errorf("the effects are %+v", all)
	}
}

// TestACallOfOnesOwn runs an App by hand below the Env's context.
func TestACallOfOnesOwn(t *testing.T) {
	s := newShop(t)
	s.bank.Fail(gate.NotDone(errors.New("busy")))
	env := posthousetest.New(t, s.baskets, nil)
	env.Restart()
	env.Answer("refund", posthousetest.Approve("ann"))
	env.Start("basket", "t", basket{Order: order{"1", 40}}).Done()
	s.bank.Times(2)
}
