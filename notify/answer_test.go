package notify_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
)

// A follower is a receiver that keeps up to date what it said.
type follower struct{ receiver }

func (*follower) Follows() {}

// A channel that follows hears of each decision, also of gates that its rule and types leave out.
func TestAFollowingChannelHearsOfEachDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		f, r := new(follower), new(receiver)
		rule, types := notify.Rule{Gates: []string{"refund"}, Assignees: []string{"alice"}}, []notify.Type{notify.GateOpened}
		d.start(d.led, notify.Endpoint{Name: "f", Channel: f, Rule: rule, Events: types}, notify.Endpoint{Name: "r", Channel: r, Rule: rule, Events: types})
		for _, who := range []string{"alice", "bob"} {
			g := d.ask(func(g *posthouse.Gate) { g.Assignees = []string{who} })
			time.Sleep(time.Second)
			must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: who}))(t)
		}
		time.Sleep(time.Second)
		if got := f.types(); len(got) != 3 || got[0] != notify.GateOpened || got[1] != notify.GateDecided || got[2] != notify.GateDecided {
			t.Errorf("a channel that follows is told %v", got)
		}
		if got := r.types(); len(got) != 1 {
			t.Errorf("another is told %v", got)
		}
	})
}

// A memo is kept between messages about one gate, goes with the thread, and cannot be written by a process that has
// lost the endpoint.
func TestAMemoIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		var first, second *notify.Memo
		r := &receiver{answer: func(m *notify.Message) error {
			if first == nil {
				first = m.Memo
				return m.Memo.Save(t.Context(), []byte("posted"))
			}
			second = m.Memo
			return nil
		}}
		_, stop := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		g := d.ask()
		time.Sleep(time.Second)
		stop()
		d.start(d.open(d.store), notify.Endpoint{Name: "ops", Channel: r})
		must.Get(d.led.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		time.Sleep(time.Second)
		synctest.Wait()
		if b := must.Get(second.Load(t.Context()))(t); string(b) != "posted" {
			t.Fatalf("the next message about the gate finds %q", b)
		}
		must.Do(t, second.Save(t.Context(), []byte("updated")))
		must.Fail(t, first.Save(t.Context(), []byte("late")), posthouse.ErrFenced)
		must.Fail(t, second.Save(t.Context(), make([]byte, notify.MaxMemo+1)), posthouse.ErrTooLarge)
		must.Do(t, second.Save(t.Context(), nil))
		if b := must.Get(second.Load(t.Context()))(t); b != nil {
			t.Errorf("what was removed is %q", b)
		}
		var none *notify.Memo // of a test
		must.Do(t, none.Save(t.Context(), []byte("x")))
		if b := must.Get(none.Load(t.Context()))(t); b != nil {
			t.Errorf("no memo keeps %q", b)
		}
	})
}

// A message that is refused for good is given up at once; a receiver that is busy is left alone as long as it asks.
func TestRefusedAndBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := new(receiver)
		n, _ := d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		r.set(func(*notify.Message) error { return &notify.Failure{Message: "no such mailbox", Refused: true} })
		d.ask()
		time.Sleep(time.Second)
		if s := d.status(n, "ops"); s.GivenUp != 1 || s.Pending != 0 || r.tried() != 1 {
			t.Errorf("what is refused for good leaves %+v after %d attempts", s, r.tried())
		}
		r.set(func(*notify.Message) error {
			return &notify.Failure{Message: "slow down", Busy: true, After: time.Minute}
		})
		d.ask()
		d.ask()
		time.Sleep(50 * time.Second)
		if r.tried() != 2 {
			t.Errorf("a busy receiver was asked %d times", r.tried()-1)
		}
		r.set(nil)
		time.Sleep(time.Minute)
		if got := r.gates(); len(got) != 2 {
			t.Errorf("afterwards it has %v", got)
		}
	})
}

// An answering channel takes answers while the notifier runs, and requests for its kind.
type answering struct {
	receiver
	took chan *notify.Desk
}

func (a *answering) Answers() notify.Answerer { return a }
func (a *answering) Listen(ctx context.Context, d *notify.Desk) {
	a.took <- d
	<-ctx.Done()
}

func (a *answering) Receive(w http.ResponseWriter, _ *http.Request, _ *notify.Desk) error {
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func TestAnAnsweringChannelListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := &answering{took: make(chan *notify.Desk, 2)}
		n, _ := d.start(d.led, notify.Endpoint{Name: "one", Channel: a}, notify.Endpoint{Name: "two", Channel: a})
		desk := <-a.took
		synctest.Wait()
		if len(a.took) != 0 {
			t.Error("what two endpoints share listens twice")
		}
		g := d.ask()
		if desk.Link(g.ID) != "https://posthouse.example.com/gates/"+string(g.ID) {
			t.Errorf("the link is %s", desk.Link(g.ID))
		}
		_, err := desk.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		must.Fail(t, err, posthouse.ErrUnsupported)
		w := httptest.NewRecorder()
		must.Do(t, n.Receive(w, httptest.NewRequest(http.MethodPost, "/", nil), "test"))
		if w.Code != http.StatusAccepted {
			t.Errorf("a request is answered with %d", w.Code)
		}
		if err := n.Receive(w, nil, "other"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("a kind that is not configured: %v", err)
		}
		_, err = notify.New(d.led, []notify.Endpoint{{Name: "one", Channel: a}, {Name: "two", Channel: &answering{}}}, nil)
		must.Fail(t, err, posthouse.ErrInvalid)
	})
}

// A gate reaches a channel without a wait for any clock: time stands still in the bubble until nothing is left to do.
func TestAGateReachesItsChannelAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := new(receiver)
		d.start(d.led, notify.Endpoint{Name: "ops", Channel: r})
		time.Sleep(time.Minute)
		before := time.Now()
		for i := range 10 {
			g := d.ask()
			synctest.Wait()
			if r.gates()[g.ID] != 1 || !time.Now().Equal(before) {
				t.Fatalf("gate %d: the channel was told %d times after %s", i, r.gates()[g.ID], time.Since(before))
			}
		}
	})
}
