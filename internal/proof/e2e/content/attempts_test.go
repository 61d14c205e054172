package content_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
)

// flowOf runs a function as a flow that ignores its input.
func flowOf(h *house, run func(ctx context.Context) (string, error)) *flow.App[int, string] {
	h.Helper()
	return must(flow.New("attempt", func(ctx context.Context, _ int) (string, error) { return run(ctx) }).Open(h.ledger, nil))(h)
}

// propose proposes a content under a question that says no more than its name.
func propose[T any](ctx context.Context, name string, content T) (gate.Grant, error) {
	return gate.Propose(ctx, gate.Question{Name: name, Text: "Do it?"}, content)
}

// A twice is a number that is read as twice what it was written as.
type twice int

func (n *twice) UnmarshalJSON(data []byte) error {
	var v int
	err := posthouse.JSON.Unmarshal(data, &v)
	*n = twice(2 * v)
	return err
}

// A generous amount is more than it shows.
type generous struct{ Amount int }

func (generous) MarshalJSON() ([]byte, error) { return []byte(`{"Amount":1}`), nil }

// An urgent transfer is what a deploy made of one.
type urgent struct {
	To     string
	Amount int
	Urgent bool
}

// A renamed transfer has its amount under a key that differs by case.
type renamed struct {
	To     string
	Amount int `json:"amount"`
}

// attempt proposes a content, has it decided, and acts on it as a type of its own.
func attempt[T, As any](h *house, thread string, q gate.Question, content T, d posthouse.Decision) (ran []As, err error) {
	h.Helper()
	app := flowOf(h, func(ctx context.Context) (string, error) {
		grant, err := gate.Propose(ctx, q, content)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "do", grant, func(_ context.Context, c As) (string, error) { ran = append(ran, c); return "done", nil })
	})
	if _, err := app.Run(h.Context(), thread, 0); err != nil {
		return nil, err
	}
	if d.By == "" {
		d.By = "alice"
	}
	if _, err := h.ledger.Decide(h.Context(), h.only(thread).ID, d); err != nil {
		return nil, err
	}
	_, err = app.Resume(h.Context(), thread)
	return ran, err
}

// A content that does not come back from its JSON as what was shown is refused
// where it is proposed, and one that only hides something runs as it was shown.
func TestAttemptContentThatIsReadOtherwise(t *testing.T) {
	onStores(t, func(h *house) {
		q, yes := gate.Question{Name: "q"}, posthouse.Decision{Verdict: posthouse.Approve}
		refused := func(name string, n int, err error) {
			h.Helper()
			if n != 0 || !errors.Is(err, posthouse.ErrInvalid) {
				h.Errorf("%s: ran %d times: %v", name, n, err)
			}
		}
		a, err := attempt[any, any](h, "long", q, map[string]any{"amount": int64(9007199254740993)}, yes)
		refused("a number that loses digits in an interface", len(a), err)
		b, err := attempt[twice, twice](h, "twice", q, 1, yes)
		refused("a type that is read as more than it was written as", len(b), err)
		c, err := attempt[bankTransfer, urgent](h, "deploy", q, bankTransfer{"bob", 1}, yes)
		refused("a type that a deploy gave another member", len(c), err)
		d, err := attempt[bankTransfer, renamed](h, "case", q, bankTransfer{"bob", 1}, yes)
		refused("a type that a deploy gave another key", len(d), err)
		e, err := attempt[urgent, bankTransfer](h, "less", q, urgent{"bob", 1, true}, yes)
		refused("a type that a deploy took a member from", len(e), err)

		g, err := attempt[generous, generous](h, "generous", q, generous{1000}, yes)
		if err != nil || len(g) != 1 || g[0].Amount != 1 {
			h.Errorf("what shows less than it is ran as %v: %v", g, err)
		}
	})
}

// The effect runs on the edit as people see it: not on what a decoder makes of a key
// that is there twice, spelled otherwise or unknown, or of a number that is too long.
func TestAttemptEditsThatSayMoreThanRuns(t *testing.T) {
	onStores(t, func(h *house) {
		q := gate.Question{Name: "q", Schema: []byte(`{}`)}
		for name, value := range map[string]string{
			"a key twice":            `{"To":"bob","Amount":1,"Amount":2}`,
			"a key in two spellings": `{"To":"bob","Amount":1,"amount":2}`,
			"another spelling":       `{"To":"bob","AMOUNT":2}`,
			"an unknown member":      `{"To":"bob","Amount":1,"Fee":2}`,
			"null":                   `null`,
			"a null member":          `{"To":null,"Amount":7}`,
			"a number too long":      `{"To":"bob","Amount":100000000000000000000}`,
			"another value behind":   `{"To":"bob","Amount":1} {"To":"eve","Amount":2}`,
		} {
			ran, err := attempt[bankTransfer, bankTransfer](h, strings.ReplaceAll(name, " ", "-"), q, bankTransfer{"bob", 1}, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(value)})
			if name == "a null member" && err == nil && len(ran) == 1 && ran[0] == (bankTransfer{"", 7}) {
				continue // null names no person
			}
			if len(ran) != 0 || !errors.Is(err, posthouse.ErrInvalid) {
				h.Errorf("%s ran %v: %v", name, ran, err)
			}
		}
		ran, err := attempt[map[string]float64, map[string]float64](h, "float", q, map[string]float64{"a": 1}, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"a":9007199254740993}`)})
		if len(ran) != 0 || !errors.Is(err, posthouse.ErrInvalid) {
			h.Errorf("a number that a float64 does not hold ran as %v: %v", ran, err)
		}
		// Other spellings of the same are what they are.
		when, err := attempt[map[string]time.Time, map[string]time.Time](h, "time", q, map[string]time.Time{"at": time.Unix(0, 0).UTC()},
			posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"at":"2026-01-01T00:00:00.000+00:00"}`)})
		if err != nil || len(when) != 1 || when[0]["at"].Year() != 2026 {
			h.Errorf("a time in another spelling ran as %v: %v", when, err)
		}
		floats, err := attempt[map[string]float64, map[string]float64](h, "spelled", q, map[string]float64{"a": 1}, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"a":1.50e1}`)})
		if err != nil || len(floats) != 1 || floats[0]["a"] != 15 {
			h.Errorf("a number in another spelling ran as %v: %v", floats, err)
		}
	})
}

// A program that changes a content after it was proposed, in a check of the
// approval, or in an effect that failed, does not change what runs.
func TestAttemptToChangeContentAfterItWasProposed(t *testing.T) {
	onStores(t, func(h *house) {
		var ran []int
		act := func(_ context.Context, c map[string]int) (string, error) {
			ran = append(ran, c["amount"])
			c["amount"] = 1_000_000
			if len(ran) == 1 {
				return "", gate.NotDone(errors.New("try again"))
			}
			return "done", nil
		}
		app := flowOf(h, func(ctx context.Context) (string, error) {
			content := map[string]int{"amount": 10}
			grant, err := propose(ctx, "q", content)
			if err != nil {
				return "", err
			}
			content["amount"] = 99
			return gate.Act(ctx, "do", grant, act, gate.ActOptions[map[string]int, string]{Check: func(_ context.Context, g *posthouse.Gate) error {
				copy(g.Payload, strings.Replace(string(g.Payload), "10", "98", 1))
				return nil
			}})
		})
		must(app.Run(h.Context(), "t", 0))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		if _, err := app.Resume(h.Context(), "t"); err == nil {
			h.Fatal("it did not fail")
		}
		must(app.Resume(h.Context(), "t"))(h)
		if len(ran) != 2 || ran[0] != 10 || ran[1] != 10 {
			h.Fatalf("ran on %v", ran)
		}
	})
}

// Arguments that are shared and changed while their user looks at them do not run.
func TestAttemptToChangeArgumentsAfterTheyWereShown(t *testing.T) {
	onStores(t, func(h *house) {
		args, ran := map[string]int{"amount": 10}, false
		var answered sync.WaitGroup
		var s *gate.Session
		s = gate.NewSession(&gate.SessionOptions{By: "mia", Announce: func(g *posthouse.Gate) error {
			args["amount"] = 99
			answered.Go(func() { s.Receive("/__approval/"+string(g.ID)+"/approve", "mia") })
			return nil
		}})
		defer s.Close()
		defer answered.Wait()
		pay := gate.Require(func(context.Context, map[string]int) (string, error) { ran = true; return "", nil }, gate.Approval{Tool: "pay", Message: "Pay?"})
		if _, err := pay(s.With(h.Context()), args); ran || !errors.Is(err, posthouse.ErrConflict) {
			h.Fatalf("ran %v, error %v", ran, err)
		}
	})
}

// Who decides for a program, or guards what is decided, cannot change what is asked.
func TestAttemptPoliciesThatChangeWhatTheyJudge(t *testing.T) {
	onStores(t, func(h *house) {
		change := func(g *posthouse.Gate) { copy(g.Payload, strings.Replace(string(g.Payload), "10", "99", 1)) }
		for name, auto := range map[string]*gate.Auto{
			"judge": {Judge: func(_ context.Context, g *posthouse.Gate) (gate.Judgement, error) {
				change(g)
				return gate.Judgement{Verdict: posthouse.Approve, Confidence: 1}, nil
			}},
			"guard": {Accept: true, Guards: []func(context.Context, *posthouse.Gate, *posthouse.Decision) error{
				func(_ context.Context, g *posthouse.Gate, _ *posthouse.Decision) error { change(g); return nil },
			}},
		} {
			b := &bank{}
			app := flowOf(h, func(ctx context.Context) (string, error) {
				grant, err := gate.Propose(ctx, gate.Question{Name: "q", Auto: auto}, bankTransfer{"bob", 10})
				if err != nil {
					return "", err
				}
				return gate.Act(ctx, "do", grant, b.pay)
			})
			must(app.Run(h.Context(), name, 0))(h)
			b.want(h, bankTransfer{"bob", 10})
		}
	})
}

// A question does not pass for a wait of the runtime, which is answered by its name
// alone.
func TestAttemptQuestionsThatPassForWaits(t *testing.T) {
	onStores(t, func(h *house) {
		for _, kind := range []string{posthouse.GateTimer, posthouse.GateSignal, posthouse.GateThread, posthouse.GateSession} {
			app := flowOf(h, func(ctx context.Context) (string, error) {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "q", Kind: kind, Expires: time.Hour, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}})
				return string(a.Verdict), err
			})
			if _, err := app.Run(h.Context(), kind, 0); !errors.Is(err, posthouse.ErrInvalid) {
				h.Errorf("a question of kind %s: %v", kind, err)
			}
		}
	})
}
