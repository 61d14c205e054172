package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

type payment struct {
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

// A desk is a session with approvals that the test answers, and a guarded tool.
type desk struct {
	t       *testing.T
	session *gate.Session
	asked   chan *posthouse.Gate
	ran     atomic.Int32
	last    atomic.Pointer[payment]
	pay     func(context.Context, payment) (string, error)
}

func newDesk(t *testing.T, change func(*gate.SessionOptions)) *desk {
	d := &desk{t: t, asked: make(chan *posthouse.Gate, 100)}
	o := gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
		d.asked <- g
		return nil
	}}
	if change != nil {
		change(&o)
	}
	d.session = gate.NewSession(&o)
	d.pay = gate.Require(func(_ context.Context, p payment) (string, error) {
		d.ran.Add(1)
		d.last.Store(&p)
		return "paid " + p.Order, nil
	}, gate.Approval{Tool: "pay", Message: "Pay this order?"})
	return d
}

func (d *desk) call(ctx context.Context) (string, error) {
	return d.pay(d.session.With(ctx), payment{"1234", 40})
}

// answered calls the tool and sends text, in which ID is the approval's id.
func (d *desk) answered(text string) (string, error) {
	d.t.Helper()
	go func() {
		g := <-d.asked
		if r := d.session.Receive(strings.ReplaceAll(text, "ID", string(g.ID)), "alice"); r != gate.Resolved {
			d.t.Errorf("%s: routed as %v", text, r)
		}
	}()
	return d.call(d.t.Context())
}

func TestAnswersByMessage(t *testing.T) {
	for text, want := range map[string]struct {
		result string // "": denied
		reason string // of the denial
		amount int    // that the tool ran with; 0: it did not
	}{
		"/__approval/ID/approve":     {"paid 1234", "", 40},
		"  /__approval/ID/APPROVE\n": {"paid 1234", "", 40},
		"/__approval/ID/yes":         {"paid 1234", "", 40},
		"/__approval/ID/approve {\"arguments\":{\"order\":\"1234\",\"amount\":20}}":                  {"paid 1234", "", 20},
		"/__approval/ID/approve {\"arguments\":{\"order\":\"9\",\"amount\":20},\"reason\":\"half\"}": {"paid 9", "", 20},
		"/__approval/ID/approve {\"order\":\"1234\",\"amount\":21}":                                  {"paid 1234", "", 21},
		"/__approval/ID/respond \"try again tomorrow\"":                                              {"try again tomorrow", "", 0},
		"/__approval/ID/respond try again tomorrow":                                                  {"try again tomorrow", "", 0},
		"/__approval/ID/respond 42":                                                                  {"42", "", 0},
		"/__approval/ID/deny":                                                                        {"", "denied by alice", 0},
		"/__approval/ID/deny not today":                                                              {"", "not today", 0},
		"/__approval/ID/whatever":                                                                    {"", "denied by alice", 0},
		"/__approval/ID/":                                                                            {"", "denied by alice", 0},
		"/__approval/ID":                                                                             {"", "denied by alice", 0},
		"/__approval/ID/respond":                                                                     {"", "missing", 0},
		"/__approval/ID/approve {\"order\":":                                                         {"", "malformed", 0},
		"/__approval/ID/approve [1]":                                                                 {"", "malformed", 0},
		"/__approval/ID/approve null":                                                                {"", "malformed", 0},
		"/__approval/ID/approve {\"arguments\":7}":                                                   {"", "malformed", 0},
		"/__approval/ID/approve {\"arguments\":null}":                                                {"", "malformed", 0},
		"/__approval/ID/approve {\"order\":\"1234\",\"amount\":\"much\"}":                            {"", "amount", 0},
		"/__approval/ID/approve {\"order\":\"1234\"}":                                                {"", "amount", 0},
		"/__approval/ID/approve {} {}":                                                               {"", "malformed", 0},
		"/__approval/ID/approve?by=%zz":                                                              {"", "malformed", 0},
	} {
		t.Run(text, func(t *testing.T) {
			d := newDesk(t, nil)
			got, err := d.answered(text)
			var e *posthouse.Error
			switch {
			case want.result != "" && (err != nil || got != want.result):
				t.Errorf("got %q, %v", got, err)
			case want.result == "" && (!errors.As(err, &e) || e.Code != posthouse.CodeForbidden || e.Decision == nil ||
				e.Decision.Verdict != posthouse.Reject || !strings.Contains(err.Error(), want.reason)):
				t.Errorf("got %q, %v", got, err)
			}
			if ran := d.ran.Load(); ran > 1 || (ran == 1) != (want.amount > 0) || ran == 1 && d.last.Load().Amount != want.amount {
				t.Errorf("the tool ran %d times, last with %+v", ran, d.last.Load())
			}
			if n := len(d.session.Waiting()); n != 0 {
				t.Errorf("%d still wait", n)
			}
		})
	}
}

func TestApprovalIsAnnounced(t *testing.T) {
	d := newDesk(t, nil)
	ids := map[posthouse.ID]bool{}
	shape := regexp.MustCompile(`^apr_[0-9a-f]{32}$`)
	for range 100 {
		go func() {
			g := <-d.asked
			if !shape.MatchString(string(g.ID)) || g.ID.Validate() != nil || ids[g.ID] {
				t.Errorf("id %s", g.ID)
			}
			ids[g.ID] = true
			if g.Name != "pay" || g.Text != "Pay this order?" || string(g.Payload) != `{"order":"1234","amount":40}` || len(g.Schema) == 0 ||
				g.RequestedBy != "alice" || g.ExpiresAt.Sub(g.CreatedAt) != 300*time.Second {
				t.Errorf("announced %+v", g)
			}
			d.session.Receive("/__approval/"+string(g.ID)+"/approve", "alice")
		}()
		if _, err := d.call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRegisteredBeforeAnnounced answers from within the announcement.
func TestRegisteredBeforeAnnounced(t *testing.T) {
	var d *desk
	d = newDesk(t, func(o *gate.SessionOptions) {
		o.Announce = func(g *posthouse.Gate) error {
			if r := d.session.Receive("/__approval/"+string(g.ID)+"/approve", "alice"); r != gate.Resolved {
				t.Errorf("routed as %v", r)
			}
			return nil
		}
	})
	if got, err := d.call(t.Context()); err != nil || got != "paid 1234" {
		t.Fatalf("got %v, error %v", got, err)
	}
}

func TestRouting(t *testing.T) {
	d, other := newDesk(t, nil), newDesk(t, nil)
	done := make(chan error, 1)
	go func() {
		_, err := d.call(t.Context())
		done <- err
	}()
	id := string((<-d.asked).ID)
	for text, want := range map[string]gate.Routing{
		"please refund":                         gate.NotApproval,
		"approve " + id:                         gate.NotApproval,
		"/__approvals/" + id + "/approve":       gate.NotApproval,
		"/__approval/apr_0/approve":             gate.UnknownID,
		"/__approval/":                          gate.UnknownID,
		"/__approval/" + id + "/approve?by=bob": gate.Refused,
	} {
		if got := d.session.Receive(text, "alice"); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := other.session.Receive("/__approval/"+id+"/approve", "alice"); got != gate.UnknownID {
		t.Errorf("another session says %v", got)
	}
	if got := d.session.Receive("/__approval/"+id+"/approve", ""); got != gate.Refused {
		t.Errorf("an answer of nobody: %v", got)
	}
	if len(d.session.Waiting()) != 1 || string(d.session.Waiting()[0].ID) != id {
		t.Error("it does not wait any more")
	}
	if got := d.session.Receive("/__approval/"+id+"/approve", "alice"); got != gate.Resolved {
		t.Error(got)
	}
	if got := d.session.Receive("/__approval/"+id+"/deny", "alice"); got != gate.UnknownID {
		t.Errorf("the second answer: %v", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		begun := time.Now()
		_, err := d.call(t.Context())
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeExpired || e.Decision.Verdict != posthouse.Expire || time.Since(begun) != gate.DefaultTimeout {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if d.ran.Load() != 0 || len(d.session.Waiting()) != 0 {
			t.Error("the tool ran, or it still waits")
		}
		if r := d.session.Receive("/__approval/"+string((<-d.asked).ID)+"/approve", "alice"); r != gate.UnknownID {
			t.Errorf("too late, and %v", r)
		}
	})
}

func TestCallerLeaves(t *testing.T) {
	d := newDesk(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	go func() {
		<-d.asked
		cancel(gone)
	}()
	if _, err := d.call(ctx); !errors.Is(err, gone) || d.ran.Load() != 0 || len(d.session.Waiting()) != 0 {
		t.Error(err)
	}
}

func TestCloseDeniesAll(t *testing.T) {
	d := newDesk(t, nil)
	const n = 5
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := d.call(t.Context())
			errs <- err
		}()
	}
	for range n {
		<-d.asked
	}
	if got := d.session.Close(); got != n {
		t.Errorf("%d were denied, want %d", got, n)
	}
	if got := d.session.Close(); got != 0 {
		t.Errorf("the second time %d", got)
	}
	for range n {
		var e *posthouse.Error
		if err := <-errs; !errors.As(err, &e) || e.Code != posthouse.CodeForbidden || e.Decision.Verdict != posthouse.Cancel {
			t.Error(err)
		}
	}
	if _, err := d.call(t.Context()); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("after closing: %v", err)
	}
	if d.ran.Load() != 0 {
		t.Error("the tool ran")
	}
}

func TestApprovalsAreIndependent(t *testing.T) {
	d := newDesk(t, nil)
	var wg sync.WaitGroup
	var yes, no atomic.Int32
	for range 50 {
		wg.Go(func() {
			if _, err := d.call(t.Context()); err == nil {
				yes.Add(1)
			} else if errors.Is(err, posthouse.ErrForbidden) {
				no.Add(1)
			}
		})
	}
	for i := range 50 {
		id, verb := string((<-d.asked).ID), [2]string{"approve", "deny"}[i%2]
		won := atomic.Int32{}
		for range 4 { // racing answers: one counts
			wg.Go(func() {
				if d.session.Receive("/__approval/"+id+"/"+verb, "alice") == gate.Resolved && won.Add(1) > 1 {
					t.Error("two answers counted")
				}
			})
		}
	}
	wg.Wait()
	if yes.Load() != 25 || no.Load() != 25 || d.ran.Load() != 25 {
		t.Errorf("%d yes, %d no, %d ran", yes.Load(), no.Load(), d.ran.Load())
	}
}

// TestFailsClosed covers all ways in which no person can be asked.
func TestFailsClosed(t *testing.T) {
	d := newDesk(t, nil)
	for name, ctx := range map[string]context.Context{
		"no session":      t.Context(),
		"nothing in it":   gate.NewSession(nil).With(t.Context()),
		"deny all":        gate.NewSession(&gate.SessionOptions{Policy: gate.DenyAll}).With(t.Context()),
		"a bad policy":    gate.NewSession(&gate.SessionOptions{Policy: func(context.Context, *posthouse.Gate) gate.Handling { return 77 }}).With(t.Context()),
		"a broken policy": gate.NewSession(&gate.SessionOptions{Policy: func(context.Context, *posthouse.Gate) gate.Handling { panic("no") }}).With(t.Context()),
		"announce fails":  gate.NewSession(&gate.SessionOptions{Announce: func(*posthouse.Gate) error { return errors.New("slow client") }}).With(t.Context()),
		"announce panics": gate.NewSession(&gate.SessionOptions{Announce: func(*posthouse.Gate) error { panic("no") }}).With(t.Context()),
	} {
		if _, err := d.pay(ctx, payment{}); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, a := range []gate.Approval{{Message: "ok?"}, {Tool: "pay"}, {Tool: "a>b", Message: "ok?"}, {Tool: "pay", Message: "ok?", Timeout: -1}, {Tool: "pay", Message: "ok?", Verdicts: []posthouse.Verdict{"maybe"}}} {
		tool := gate.Require(func(context.Context, payment) (string, error) { d.ran.Add(1); return "", nil }, a)
		s := gate.NewSession(&gate.SessionOptions{Policy: gate.AllowAll})
		if _, err := tool(s.With(t.Context()), payment{}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if d.ran.Load() != 0 {
		t.Error("the tool ran")
	}
}

func TestPolicies(t *testing.T) {
	d := newDesk(t, func(o *gate.SessionOptions) {
		o.Policy = func(_ context.Context, g *posthouse.Gate) gate.Handling {
			var p payment
			if g.Name != "pay" || json.Unmarshal(g.Payload, &p) != nil || p.Amount > 100 {
				return gate.Deny
			}
			if p.Amount <= 10 {
				return gate.Allow
			}
			return gate.AskFirst
		}
	})
	ctx := d.session.With(t.Context())
	if _, err := d.pay(ctx, payment{"1", 10}); err != nil {
		t.Error(err)
	}
	if _, err := d.pay(ctx, payment{"1", 101}); !errors.Is(err, posthouse.ErrForbidden) || !strings.Contains(err.Error(), "policy:deny") {
		t.Error(err)
	}
	if _, err := d.answered("/__approval/ID/approve"); err != nil || d.ran.Load() != 2 {
		t.Error(err)
	}
	all := gate.NewSession(&gate.SessionOptions{Policy: gate.AllowAll})
	if _, err := d.pay(all.With(t.Context()), payment{"1", 1000}); err != nil || d.ran.Load() != 3 {
		t.Error(err)
	}
}

// TestDecide answers by id, as a server does for other callers.
func TestDecide(t *testing.T) {
	d := newDesk(t, nil)
	d.pay = gate.Require(func(_ context.Context, p payment) (string, error) { return "paid", nil }, gate.Approval{
		Tool: "pay", Message: "ok?", Assignees: []string{"carol"}, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Edit, posthouse.Reject},
	})
	done := make(chan error, 1)
	go func() {
		_, err := d.call(t.Context())
		done <- err
	}()
	id := (<-d.asked).ID
	for _, c := range []struct {
		d    posthouse.Decision
		want error
	}{
		{posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}, posthouse.ErrForbidden},
		{posthouse.Decision{Verdict: posthouse.Approve}, posthouse.ErrInvalid},
		{posthouse.Decision{Verdict: posthouse.Cancel, By: "carol"}, posthouse.ErrInvalid},
		{posthouse.Decision{Verdict: posthouse.Respond, By: "carol", Value: json.RawMessage(`"x"`)}, posthouse.ErrInvalid},
		{posthouse.Decision{Verdict: posthouse.Approve, By: "carol", Value: json.RawMessage(`1`)}, posthouse.ErrInvalid},
		{posthouse.Decision{Verdict: posthouse.Edit, By: "carol"}, posthouse.ErrInvalid},
		{posthouse.Decision{Verdict: posthouse.Edit, By: "carol", Value: json.RawMessage(`{"amount":1}`)}, posthouse.ErrInvalid},
	} {
		if _, err := d.session.Decide(id, c.d); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.d, err)
		}
	}
	g, err := d.session.Decide(id, posthouse.Decision{Verdict: posthouse.Approve, By: "carol", Actor: "olga"})
	if err != nil || g.Decision.By != "carol" || g.Decision.Actor != "olga" || g.Decision.Gate != id || g.Decision.At.IsZero() {
		t.Fatal(g, err)
	}
	if _, err := d.session.Decide(id, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{"/__approval/apr_1/approve", "/__approval/x/approve?by=a {\"arguments\":{}}", "/__approval/x/respond y", "hello", "/__approval/x/deny why"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, ok := gate.ParseMessage(s)
		if !ok {
			return
		}
		switch m.Verdict {
		case posthouse.Approve, posthouse.Reject:
			if m.Value != nil {
				t.Fatalf("%s with the value %s", m.Verdict, m.Value)
			}
		case posthouse.Edit, posthouse.Respond:
			if !json.Valid(m.Value) {
				t.Fatalf("the value %q", m.Value)
			}
		default:
			t.Fatalf("verdict %q", m.Verdict)
		}
	})
}
