package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type edit struct {
	Amount int    `json:"amount"`
	Note   string `json:"note,omitempty"`
}

// A host runs one node of one thread as a model does, with a clock of its own.
type host struct {
	t     testing.TB
	store posthouse.Store
	l     *ledger.Ledger
	ms    atomic.Int64
	node  func(context.Context) error

	unchecked bool // ledgers that are opened from now on have no validator
	required  bool // and ask for grants
}

func newHost(t testing.TB, node func(context.Context) error) *host {
	t.Helper()
	h := &host{t: t, store: memstore.New(), node: node}
	h.ms.Store(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC).UnixMilli())
	h.restart()
	s := h.begin()
	h.commit(s, posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"ask"}}, ledger.Draft{})
	h.end(s)
	return h
}

// restart opens the store with a ledger that knows nothing.
func (h *host) restart() {
	h.t.Helper()
	o := ledger.Options{Now: func() time.Time { return time.UnixMilli(h.ms.Load()) }, Validate: gate.Validator()}
	if h.unchecked {
		o.Validate = nil
	}
	o.RequireGrants = h.required
	l, err := ledger.Open(h.store, &o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.l = l
}

func (h *host) advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

func (h *host) begin() *session.Session {
	h.t.Helper()
	s, err := session.Begin(context.Background(), h.l, session.Options{Thread: "order-1"})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *host) end(s *session.Session) {
	h.t.Helper()
	if err := s.End(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) commit(s *session.Session, c posthouse.Change, d ledger.Draft) {
	h.t.Helper()
	d.Checkpoint = &c
	if _, err := s.Commit(context.Background(), &d); err != nil {
		h.t.Fatal(err)
	}
}

// run executes the node and parks it where it waits. It returns the node's error.
func (h *host) run() error {
	h.t.Helper()
	ctx := context.Background()
	s := h.begin()
	defer h.end(s)
	task, err := engine.TaskWithKey(ctx, s, s.Key("ask"), false)
	if err != nil {
		h.t.Fatal(err)
	}
	err = h.node(task.With(ctx))
	if !task.Waiting() {
		return err
	}
	if len(task.Gates().New()) > 0 {
		var keep []posthouse.ID
		for _, g := range task.Gates().Open() {
			keep = append(keep, g.ID)
		}
		h.commit(s, posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"}},
			ledger.Draft{Gates: task.Gates().New(), Keep: keep})
	}
	return posthouse.ErrWaiting
}

// wait runs the node, which must wait, and returns the gates that are open.
func (h *host) wait() []*posthouse.Gate {
	h.t.Helper()
	if err := h.run(); !errors.Is(err, posthouse.ErrWaiting) {
		h.t.Fatalf("the node did not wait: %v", err)
	}
	return h.open()
}

func (h *host) open() (gates []*posthouse.Gate) {
	h.t.Helper()
	for g, err := range h.l.Gates(context.Background(), ledger.GateQuery{Thread: "order-1"}) {
		if err != nil {
			h.t.Fatal(err)
		}
		gates = append(gates, g)
	}
	return gates
}

func (h *host) decide(id posthouse.ID, d posthouse.Decision) {
	h.t.Helper()
	if d.By == "" {
		d.By = "bob"
	}
	if _, err := give(context.Background(), h.l, id, d); err != nil {
		h.t.Fatal(err)
	}
}

// give decides a question, or withdraws it.
func give(ctx context.Context, l *ledger.Ledger, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
	if d.Verdict == posthouse.Cancel {
		return l.Withdraw(ctx, id, ledger.Withdrawal{By: d.By, Reason: d.Reason, Operator: true})
	}
	return l.Decide(ctx, id, d)
}

// asking returns a node that asks q and keeps the answer.
func asking[T any](q gate.Question, a *gate.Answer[T]) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*a, err = gate.Ask[T](ctx, q)
		return err
	}
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		d        posthouse.Decision
		approved bool
		value    edit
	}{
		{posthouse.Decision{Verdict: posthouse.Approve, Reason: "fine"}, true, edit{}},
		{posthouse.Decision{Verdict: posthouse.Reject, Reason: "too much"}, false, edit{}},
		{posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`{"amount":7}`)}, true, edit{Amount: 7}},
		{posthouse.Decision{Verdict: posthouse.Respond, Value: json.RawMessage(`{"amount":0,"note":"ask me later"}`)}, false, edit{Note: "ask me later"}},
		{posthouse.Decision{Verdict: posthouse.Cancel}, false, edit{}},
	} {
		t.Run(string(tc.d.Verdict), func(t *testing.T) {
			var a gate.Answer[edit]
			h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
			g := h.wait()[0]
			h.advance(time.Minute)
			h.decide(g.ID, tc.d)
			h.restart()
			if err := h.run(); err != nil {
				t.Fatal(err)
			}
			if a.Verdict != tc.d.Verdict || a.Approved() != tc.approved || a.Value != tc.value || string(a.Raw) != string(tc.d.Value) ||
				a.By != "bob" || a.Reason != tc.d.Reason || a.Gate != g.ID || !a.At.Equal(h.l.Now()) {
				t.Fatalf("got %+v", a)
			}
		})
	}
}

func TestGateShowsItsQuestion(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{
		Name: "refund", Kind: "money", Text: "Refund?", Show: map[string]int{"order": 1234}, Expires: time.Hour,
		Assignees: []string{"bob", "carol"}, RequestedBy: "alice", Labels: map[string]string{"team": "shop"},
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
	}, &a))
	g := h.wait()[0]
	if g.Name != "refund" || g.Kind != "money" || g.Text != "Refund?" || string(g.Payload) != `{"order":1234}` || g.RequestedBy != "alice" ||
		len(g.Assignees) != 2 || g.Labels["team"] != "shop" || !g.ExpiresAt.Equal(h.l.Now().Add(time.Hour)) || g.Schema != nil {
		t.Fatalf("got %+v", g)
	}
	if !strings.HasPrefix(string(g.ID), "gate-") || g.Task == "" {
		t.Fatalf("got %+v", g)
	}
}

func TestDecisionIsBoundToWhatWasShown(t *testing.T) {
	var a gate.Answer[any]
	h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
	g := h.wait()[0]
	wrong := g.Hash
	wrong[3] ^= 1
	_, err := h.l.Decide(context.Background(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob", Shown: wrong})
	if !errors.Is(err, posthouse.ErrConflict) {
		t.Fatal(err)
	}
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve, Shown: g.Hash})
	if err := h.run(); err != nil || !a.Approved() {
		t.Fatal(a, err)
	}
}

func TestValuesAreChecked(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
	id := h.wait()[0].ID
	for value, want := range map[string]string{
		`{"amount":"7"}`:           "at amount",
		`{}`:                       "amount",
		`{"amount":7,"extra":1}`:   "extra",
		`null`:                     "null",
		`[1]`:                      "array",
		`{"amount":7,"note":null}`: "at note",
	} {
		_, err := h.l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(value)})
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
	if len(h.open()) != 1 {
		t.Fatal("a refused value decided the gate")
	}
	l, err := ledger.Open(h.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"amount":7}`)})
	if !errors.Is(err, posthouse.ErrUnsupported) {
		t.Fatal("a ledger without a validator took a value:", err)
	}
}

func TestNullIsAnAnswer(t *testing.T) {
	t.Run("pointer", func(t *testing.T) {
		var a gate.Answer[*edit]
		h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
		h.decide(h.wait()[0].ID, posthouse.Decision{Verdict: posthouse.Respond, Value: json.RawMessage(`null`)})
		if err := h.run(); err != nil || a.Verdict != posthouse.Respond || a.Value != nil || string(a.Raw) != "null" {
			t.Fatal(a, err)
		}
	})
	t.Run("any", func(t *testing.T) {
		a := gate.Answer[any]{Value: 1}
		h := newHost(t, asking(gate.Question{Name: "refund"}, &a))
		if g := h.wait()[0]; g.Schema != nil {
			t.Fatalf("any JSON has the schema %s", g.Schema)
		}
		h.decide(h.open()[0].ID, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`null`)})
		if err := h.run(); err != nil || a.Value != nil || string(a.Raw) != "null" || !a.Approved() {
			t.Fatal(a, err)
		}
	})
}

func TestOwnSchema(t *testing.T) {
	var a gate.Answer[int]
	h := newHost(t, asking(gate.Question{Name: "amount", Schema: json.RawMessage(`{"type":"integer","maximum":100}`)}, &a))
	id := h.wait()[0].ID
	_, err := h.l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`101`)})
	if !errors.Is(err, posthouse.ErrInvalid) {
		t.Fatal(err)
	}
	h.decide(id, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`100`)})
	if err := h.run(); err != nil || a.Value != 100 {
		t.Fatal(a, err)
	}
}

// TestOwnSchemaNeedsAValidator asks over a ledger that could not check the answer:
// the program gets an error, and no question is asked.
func TestOwnSchemaNeedsAValidator(t *testing.T) {
	var a gate.Answer[int]
	h := newHost(t, asking(gate.Question{Name: "amount", Schema: json.RawMessage(`{"type":"integer"}`)}, &a))
	h.unchecked = true
	h.restart()
	var e *posthouse.Error
	if err := h.run(); !errors.As(err, &e) || e.Code != posthouse.CodeUnsupported || e.Field != "schema" || e.Hint == "" {
		t.Fatal(err)
	}
	if open := h.open(); len(open) != 0 {
		t.Fatalf("people are asked all the same: %v", open)
	}
}

// A new version of the program may read answers by another type: what the type
// does not take is no answer any more, and is asked for again.
func TestAnswerThatNoLongerFits(t *testing.T) {
	var a gate.Answer[any]
	h := newHost(t, asking(gate.Question{Name: "amount"}, &a))
	id := h.wait()[0].ID
	h.decide(id, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`"a lot"`)})
	var b gate.Answer[int]
	h.node = asking(gate.Question{Name: "amount"}, &b)
	if g := h.wait()[0]; g.Supersedes != id || !strings.Contains(g.Note, "does not count any more") {
		t.Fatalf("%+v", g)
	}
}

func TestExpiry(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "refund", Expires: time.Hour}, &a))
	id := h.wait()[0].ID
	h.advance(time.Hour - time.Millisecond)
	if err := h.run(); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal("before the deadline:", err)
	}
	h.restart()
	h.advance(time.Millisecond)
	_, err := h.l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	var e *posthouse.Error
	if !errors.Is(err, posthouse.ErrExpired) || !errors.As(err, &e) || e.Decision.Verdict != posthouse.Expire {
		t.Fatal("a late approval:", err)
	}
	for range 2 {
		if err := h.run(); err != nil || a.Verdict != posthouse.Expire || a.Approved() || a.By != "posthouse" {
			t.Fatal(a, err)
		}
		h.restart()
	}
}

func TestExpiryIsRecordedByTheProgramItself(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "refund", Expires: time.Hour}, &a))
	id := h.wait()[0].ID
	h.restart()
	h.advance(2 * time.Hour)
	if err := h.run(); err != nil || a.Verdict != posthouse.Expire {
		t.Fatal(a, err)
	}
	if g, err := h.l.Gate(context.Background(), id); err != nil || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
		t.Fatal(g, err)
	}
}

func TestAskedTwiceInOneNode(t *testing.T) {
	var a, b gate.Answer[any]
	both := func(ctx context.Context) error {
		var errs [2]error
		a, errs[0] = gate.Ask[any](ctx, gate.Question{Name: "ok"})
		b, errs[1] = gate.Ask[any](ctx, gate.Question{Name: "ok"})
		return errors.Join(errs[:]...)
	}
	h := newHost(t, both)
	gates := h.wait()
	if len(gates) != 2 || gates[0].ID == gates[1].ID || gates[0].Occurrence == gates[1].Occurrence {
		t.Fatal(gates)
	}
	h.decide(gates[1].ID, posthouse.Decision{Verdict: posthouse.Reject})
	left := h.wait()
	if len(left) != 1 || left[0].ID != gates[0].ID {
		t.Fatal("the other gate did not keep its id:", left)
	}
	h.decide(gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if gates[0].Occurrence == 1 {
		a, b = b, a
	}
	if a.Gate != gates[0].ID || !a.Approved() || b.Gate != gates[1].ID || b.Approved() {
		t.Fatal(a, b)
	}
}

func TestSequentialQuestions(t *testing.T) {
	var order []string
	h := newHost(t, func(ctx context.Context) error {
		for _, name := range []string{"first", "second", "third"} {
			a, err := gate.Ask[any](ctx, gate.Question{Name: name})
			if err != nil {
				return fmt.Errorf("asking %s: %w", name, err)
			}
			order = append(order, name+":"+string(a.Verdict))
		}
		return nil
	})
	for i, name := range []string{"first", "second", "third"} {
		order = nil
		gates := h.wait()
		if len(gates) != 1 || gates[0].Name != name || len(order) != i {
			t.Fatalf("gates %v, order %v", gates, order)
		}
		h.decide(gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
		h.restart()
	}
	order = nil
	if err := h.run(); err != nil || len(order) != 3 {
		t.Fatalf("order %v, error %v", order, err)
	}
}

func TestAskAfterDoReplaysDo(t *testing.T) {
	ran := 0
	var a gate.Answer[any]
	h := newHost(t, func(ctx context.Context) error {
		n, err := step.Do(ctx, "quote", func(context.Context) (int, error) { ran++; return 41 + ran, nil })
		if err != nil {
			return err
		}
		a, err = gate.Ask[any](ctx, gate.Question{Name: "ok", Show: n})
		return err
	})
	g := h.wait()[0]
	if string(g.Payload) != "42" {
		t.Fatal(string(g.Payload))
	}
	h.restart()
	h.wait()
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve})
	h.restart()
	if err := h.run(); err != nil || ran != 1 || !a.Approved() {
		t.Fatal(ran, a, err)
	}
}

// A node that swallows the waiting error does not get past the gate.
func TestSwallowedWaiting(t *testing.T) {
	passed := 0
	h := newHost(t, func(ctx context.Context) error {
		a, _ := gate.Ask[any](ctx, gate.Question{Name: "ok"})
		if a.Approved() {
			passed++
		}
		return nil
	})
	id := h.wait()[0].ID
	h.decide(id, posthouse.Decision{Verdict: posthouse.Approve})
	if err := h.run(); err != nil || passed != 1 {
		t.Fatalf("passed %v, error %v", passed, err)
	}
}

func TestFourEyes(t *testing.T) {
	ctx := context.Background()
	var a gate.Answer[any]
	q := gate.Question{Name: "refund", RequestedBy: "alice"}
	h := newHost(t, asking(q, &a))
	id := h.wait()[0].ID
	for _, v := range []posthouse.Decision{
		{Verdict: posthouse.Approve}, {Verdict: posthouse.Edit, Value: json.RawMessage(`1`)}, {Verdict: posthouse.Respond, Value: json.RawMessage(`1`)},
	} {
		v.By = "alice"
		if _, err := h.l.Decide(ctx, id, v); !errors.Is(err, posthouse.ErrForbidden) {
			t.Fatalf("v.Verdict %v, error %v", v.Verdict, err)
		}
	}
	h.decide(id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})

	q.AllowRequester = true
	h = newHost(t, asking(q, &a))
	h.decide(h.wait()[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	if err := h.run(); err != nil || a.By != "alice" {
		t.Fatal(a, err)
	}
}

// Of 100 who decide at once one wins, and each of the others is told who.
func TestRacingDeciders(t *testing.T) {
	ctx := context.Background()
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		var a gate.Answer[edit]
		h := newHost(t, asking(gate.Question{Name: "refund", Expires: time.Hour}, &a))
		id := h.wait()[0].ID
		other, err := ledger.Open(h.store, &ledger.Options{Now: h.l.Now, Validate: gate.Validator()}) // another process
		if err != nil {
			t.Fatal(err)
		}
		start := make(chan struct{})
		var wg sync.WaitGroup
		var won atomic.Int64
		var mu sync.Mutex
		winners := map[string]int{}
		for i := range 100 {
			wg.Go(func() {
				<-start
				l := []*ledger.Ledger{h.l, other}[i%2]
				d := posthouse.Decision{Verdict: posthouse.Approve, By: fmt.Sprintf("user-%d", i)}
				switch i % 4 {
				case 1:
					d.Verdict = posthouse.Reject
				case 2:
					d.Verdict, d.Value = posthouse.Edit, json.RawMessage(`{"amount":1}`)
				case 3:
					d.Verdict = posthouse.Cancel
				}
				g, err := give(ctx, l, id, d)
				var e *posthouse.Error
				switch {
				case err == nil:
					won.Add(1)
					mu.Lock()
					winners[g.Decision.By]++
					mu.Unlock()
				case errors.Is(err, posthouse.ErrDecided) && errors.As(err, &e) && e.Decision != nil:
					mu.Lock()
					winners[e.Decision.By]++
					mu.Unlock()
				default:
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		if won.Load() != 1 || len(winners) != 1 {
			t.Fatalf("%d winners: %v", won.Load(), winners)
		}
		h.restart()
		if err := h.run(); err != nil || winners[a.By] != 100 {
			t.Fatal(a, winners, err)
		}
	}
}

func TestAskOutsideATask(t *testing.T) {
	_, err := gate.Ask[any](context.Background(), gate.Question{Name: "ok"})
	if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "below a node") {
		t.Fatal(err)
	}
}
