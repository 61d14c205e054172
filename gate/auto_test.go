package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
)

func judging(calls *int, j gate.Judgement, err error) func(context.Context, *posthouse.Gate) (gate.Judgement, error) {
	return func(context.Context, *posthouse.Gate) (gate.Judgement, error) {
		*calls++
		return j, err
	}
}

func TestAutomaticDecisions(t *testing.T) {
	approve := gate.Judgement{Verdict: posthouse.Approve, Confidence: 0.7, Reason: "small"}
	for name, tc := range map[string]struct {
		auto gate.Auto
		want posthouse.Verdict
		by   string
		why  string
	}{
		"accept":        {gate.Auto{Accept: true}, posthouse.Approve, "policy:accept", ""},
		"reject":        {gate.Auto{Reject: "frozen"}, posthouse.Reject, "policy:reject", "frozen"},
		"judge":         {gate.Auto{Judge: judging(new(int), approve, nil)}, posthouse.Approve, "policy:judge", "small"},
		"judge says no": {gate.Auto{Judge: judging(new(int), gate.Judgement{Verdict: posthouse.Reject, Confidence: 1}, nil)}, posthouse.Reject, "policy:judge", ""},
		"threshold":     {gate.Auto{Judge: judging(new(int), gate.Judgement{Verdict: posthouse.Approve, Confidence: 0.2}, nil), Threshold: 0.1}, posthouse.Approve, "policy:judge", ""},
		"guards pass": {gate.Auto{Accept: true, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
			func(context.Context, *posthouse.Gate, *posthouse.Decision) error { return nil },
		}}, posthouse.Approve, "policy:accept", ""},
		"unguarded": {gate.Auto{Accept: true, Unguarded: true, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
			func(context.Context, *posthouse.Gate, *posthouse.Decision) error { return errors.New("no") },
		}}, posthouse.Approve, "policy:accept", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var a gate.Answer[edit]
			h := newHost(t, asking(gate.Question{Name: "refund", Show: 1234, Auto: &tc.auto}, &a))
			if err := h.run(); err != nil {
				t.Fatal(err)
			}
			if a.Verdict != tc.want || a.By != tc.by || a.Gate == "" || !a.At.Equal(h.l.Now()) || a.Reason != tc.why {
				t.Errorf("got %+v", a)
			}
			// It is on record as a decision, with what it is about.
			found := false
			for e, err := range h.l.Log(t.Context(), "order-1", posthouse.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range e.Records {
					if r.Decision == nil {
						continue
					}
					on, err := h.l.Gate(t.Context(), r.Decision.Gate)
					if err != nil || on.ID != a.Gate || on.Decision.By != tc.by || string(on.Payload) != "1234" {
						t.Errorf("on record: %+v, %v", on, err)
					}
					found = true
				}
			}
			if !found {
				t.Error("it is not on record")
			}
			// And is not made again, even if the program would decide otherwise now.
			first := a
			h.restart()
			h.node = asking(gate.Question{Name: "refund", Show: 1234, Auto: &gate.Auto{Reject: "changed"}}, &a)
			h.advance(time.Minute)
			if err := h.run(); err != nil || a.Verdict != first.Verdict || a.By != first.By || !a.At.Equal(first.At) {
				t.Errorf("the second time %+v, %v", a, err)
			}
		})
	}
}

func TestJudgeFallsThroughToPeopleAndIsPaidOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		j    gate.Judgement
		err  error
		says string
	}{
		"unsure":       {j: gate.Judgement{Verdict: posthouse.Approve, Confidence: 0.69, Reason: "perhaps"}, says: "the judge would approve, with a confidence of 0.69: perhaps"},
		"failed":       {err: errors.New("model overloaded"), says: "model overloaded"},
		"no verdict":   {j: gate.Judgement{Confidence: 1}, says: "neither approve nor reject"},
		"too sure":     {j: gate.Judgement{Verdict: posthouse.Approve, Confidence: 7}, says: "not from 0 to 1"},
		"edits":        {j: gate.Judgement{Verdict: posthouse.Edit, Confidence: 1}, says: "neither approve nor reject"},
		"claims to be": {j: gate.Judgement{Verdict: "policy", Confidence: 1}, says: "neither approve nor reject"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			var a gate.Answer[edit]
			h := newHost(t, asking(gate.Question{Name: "refund", Text: "Refund?", Auto: &gate.Auto{Judge: judging(&calls, tc.j, tc.err)}}, &a))
			g := h.wait()[0]
			if g.Text != "Refund?" || !strings.Contains(g.Note, tc.says) {
				t.Errorf("people are told %q, %q", g.Text, g.Note)
			}
			h.restart()
			h.wait()
			h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Reject})
			if err := h.run(); err != nil || a.Verdict != posthouse.Reject || a.By != "bob" || a.Gate != g.ID || calls != 1 {
				t.Errorf("got %+v, %v; the judge was called %d times", a, err, calls)
			}
		})
	}
}

// TestJudgeIsPaidOnceAcrossACrash has the process die between the judge and what
// follows from it.
func TestJudgeIsPaidOnceAcrossACrash(t *testing.T) {
	calls := 0
	var a gate.Answer[edit]
	ctx, kill := context.WithCancel(t.Context())
	h := newHost(t, asking(gate.Question{Name: "refund", Auto: &gate.Auto{
		Judge: judging(&calls, gate.Judgement{Verdict: posthouse.Approve, Confidence: 1}, nil),
		Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{func(ctx context.Context, _ *posthouse.Gate, _ *posthouse.Decision) error {
			kill()
			return ctx.Err()
		}},
	}}, &a))
	s := h.begin()
	task, err := engine.TaskWithKey(ctx, s, s.Key("ask"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.node(task.With(ctx)); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Fatalf("error %v, calls %v", err, calls)
	}
	h.end(s)
	h.restart()
	if err := h.run(); err != nil || a.By != "policy:judge" || calls != 1 {
		t.Errorf("got %+v, %v; the judge was called %d times", a, err, calls)
	}
}

func TestGuardTurnsAnApprovalIntoAQuestion(t *testing.T) {
	var a gate.Answer[edit]
	seen := 0
	h := newHost(t, asking(gate.Question{Name: "refund", Auto: &gate.Auto{Accept: true, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
		func(_ context.Context, g *posthouse.Gate, d *posthouse.Decision) error {
			seen++
			if g.Name != "refund" || d.By != "policy:accept" || d.Verdict != posthouse.Approve {
				t.Errorf("the guard is shown %+v of %+v", d, g)
			}
			return errors.New("over the limit")
		},
	}}}, &a))
	g := h.wait()[0]
	if !strings.Contains(g.Note, "over the limit") {
		t.Errorf("people are told %q", g.Note)
	}
	h.wait()
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve})
	if err := h.run(); err != nil || a.By != "bob" || seen != 1 {
		t.Errorf("got %+v, %v, %d", a, err, seen)
	}
	h = newHost(t, asking(gate.Question{Name: "refund", Auto: &gate.Auto{Reject: "frozen", Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
		func(context.Context, *posthouse.Gate, *posthouse.Decision) error { return errors.New("no") },
	}}}, &a))
	if err := h.run(); err != nil || a.Verdict != posthouse.Reject {
		t.Errorf("guards look at approvals only: %+v, %v", a, err)
	}
}

func TestOnTimeout(t *testing.T) {
	no := func(context.Context, *posthouse.Gate, *posthouse.Decision) error { return errors.New("over the limit") }
	for name, tc := range map[string]struct {
		auto *gate.Auto
		want posthouse.Verdict
		by   string
		err  error
	}{
		"default": {nil, posthouse.Expire, "posthouse", nil},
		"answer":  {&gate.Auto{}, posthouse.Expire, "posthouse", nil},
		"accept":  {&gate.Auto{OnTimeout: gate.TimeoutAccept}, posthouse.Approve, "policy:timeout", nil},
		"guarded": {&gate.Auto{OnTimeout: gate.TimeoutAccept, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{no}}, posthouse.Reject, "policy:timeout", nil},
		"reject":  {&gate.Auto{OnTimeout: gate.TimeoutReject}, posthouse.Reject, "policy:timeout", nil},
		"error":   {&gate.Auto{OnTimeout: gate.TimeoutError}, "", "", posthouse.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			var a gate.Answer[edit]
			h := newHost(t, asking(gate.Question{Name: "refund", Expires: time.Hour, Auto: tc.auto}, &a))
			g := h.wait()[0]
			h.advance(time.Hour)
			for range 2 {
				if err := h.run(); !errors.Is(err, tc.err) || a.Verdict != tc.want || a.By != tc.by {
					t.Errorf("got %+v, %v", a, err)
				}
			}
			if d, err := h.l.Gate(t.Context(), g.ID); err != nil || d.Decision.Verdict != posthouse.Expire {
				t.Errorf("the gate itself: %+v, %v", d, err)
			}
			if tc.by == "policy:timeout" {
				if by, err := h.l.Gate(t.Context(), a.Gate); err != nil || by.Supersedes != g.ID || by.Decision.By != tc.by {
					t.Errorf("on record: %+v, %v", by, err)
				}
			}
		})
	}
}

// TestQuestionStaysWithPeople changes the program while a question waits.
func TestQuestionStaysWithPeople(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
	g := h.wait()[0]
	h.node = asking(gate.Question{Name: "refund", Auto: &gate.Auto{Accept: true}}, &a)
	h.wait()
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Reject})
	if err := h.run(); err != nil || a.Verdict != posthouse.Reject || a.By != "bob" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestQuestionsOfOneName are decided each for itself.
func TestQuestionsOfOneName(t *testing.T) {
	var answers [3]gate.Answer[edit]
	calls := 0
	h := newHost(t, func(ctx context.Context) (err error) {
		for i := range answers {
			j := gate.Judgement{Verdict: posthouse.Approve, Confidence: float64(i) / 2, Reason: string(rune('a' + i))}
			var e error
			answers[i], e = gate.Ask[edit](ctx, gate.Question{Name: "refund", Auto: &gate.Auto{Judge: judging(&calls, j, nil)}})
			err = errors.Join(err, e)
		}
		return err
	})
	gates := h.wait()
	if len(gates) != 2 || calls != 3 {
		t.Fatalf("%d wait after %d calls", len(gates), calls)
	}
	h.restart()
	for _, g := range gates {
		h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Reject})
	}
	if err := h.run(); err != nil || calls != 3 || answers[0].By != "bob" || answers[1].By != "bob" || answers[2].By != "policy:judge" {
		t.Errorf("%+v, %v after %d calls", answers, err, calls)
	}
}

func TestBadAuto(t *testing.T) {
	nan := 0.0
	nan /= nan
	for _, q := range []gate.Question{
		{Auto: &gate.Auto{Accept: true, Reject: "x"}},
		{Auto: &gate.Auto{Accept: true}, FourEyes: true, RequestedBy: "alice"},
		{Auto: &gate.Auto{OnTimeout: gate.TimeoutAccept}, Quorum: &posthouse.Quorum{Need: 2}},
		{Auto: &gate.Auto{Threshold: 1.1}}, {Auto: &gate.Auto{Threshold: -1}}, {Auto: &gate.Auto{Threshold: nan}},
		{Auto: &gate.Auto{OnTimeout: "shrug"}},
		{Auto: &gate.Auto{Reject: strings.Repeat("x", 4001)}},
		{Name: strings.Repeat("x", 151), Auto: &gate.Auto{Accept: true}},
		{FourEyes: true},
		{FourEyes: true, RequestedBy: "alice", AllowRequester: true},
		{FourEyes: true, RequestedBy: "alice", Quorum: &posthouse.Quorum{Need: 2}},
		{Assignees: []string{"bob"}, Escalate: &gate.Escalation{To: []string{"carol"}}},
	} {
		if q.Name == "" {
			q.Name = "refund"
		}
		var a gate.Answer[edit]
		if err := newHost(t, asking(q, &a)).run(); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
