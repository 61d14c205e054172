package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/slack"
)

// cut breaks a connection off without an answer.
func cut(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// While Slack is down nothing is lost, and what it took without an answer is not posted twice, also by another process.
func TestNothingIsPostedTwice(t *testing.T) {
	w := newWorkspace(t)
	a := app(t, w)
	h := open(t, w, a, notify.Endpoint{})
	var down atomic.Int32 // 1: it takes messages and loses its answers, 2: it is away
	w.set(func() {
		w.before = func(rw http.ResponseWriter, _ string, _ url.Values) bool {
			if down.Load() == 2 {
				cut(rw)
			}
			return down.Load() == 2
		}
		w.after = func(rw http.ResponseWriter, method string) bool {
			if down.Load() == 1 && method == "chat.postMessage" {
				down.Store(2)
				cut(rw)
				return true
			}
			return false
		}
	})
	down.Store(1)
	first := h.ask()
	h.until(func() bool { return down.Load() == 2 && len(w.posted()) == 1 })
	second := h.ask()
	third := h.ask()
	must.Get(h.led.Decide(t.Context(), third.ID, posthouse.Decision{Verdict: posthouse.Reject, By: "alice"}))(t) // at another door
	h.stop()
	h.run(a, notify.Endpoint{}) // the next process
	down.Store(0)
	h.until(func() bool { return len(w.posted()) >= 2 })
	must.Get(h.led.Decide(t.Context(), first.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	must.Get(h.led.Decide(t.Context(), second.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	h.until(func() bool {
		edits := 0
		for _, m := range w.posted() {
			edits += m.Edits
		}
		return edits >= 2
	})
	if all := w.posted(); len(all) != 2 || all[0].Edits != 1 || all[1].Edits != 1 {
		t.Errorf("there are %d messages: %+v", len(all), all)
	}
}

// Slack's rate limits are kept: nothing is sent before Slack wants it.
func TestRateLimits(t *testing.T) {
	w := newWorkspace(t)
	a := app(t, w)
	c := must.Get(a.Channel("C0001", false))(t)
	w.set(func() {
		w.before = func(rw http.ResponseWriter, _ string, _ url.Values) bool {
			rw.Header().Set("Retry-After", "30")
			rw.WriteHeader(http.StatusTooManyRequests)
			return true
		}
	})
	err := c.Deliver(t.Context(), &notify.Message{ID: "m", Event: &notify.Event{Type: notify.Test}})
	if f, ok := err.(*notify.Failure); !ok || !f.Busy || f.After != 30*time.Second || f.Status != http.StatusTooManyRequests {
		t.Errorf("the failure is %+v", err)
	}
	for code, want := range map[string]notify.Failure{
		"invalid_blocks": {Refused: true}, "not_in_channel": {}, "token_revoked": {}, "ratelimited": {Busy: true, After: 30 * time.Second},
	} {
		w.set(func() {
			w.before = func(rw http.ResponseWriter, _ string, _ url.Values) bool {
				_ = json.NewEncoder(rw).Encode(map[string]any{"ok": false, "error": code})
				return true
			}
		})
		err := c.Deliver(t.Context(), &notify.Message{ID: "m", Event: &notify.Event{Type: notify.Test}})
		f, ok := err.(*notify.Failure)
		if !ok || f.Refused != want.Refused || f.Busy != want.Busy || f.After != want.After || f.Gone || !strings.Contains(f.Message, code) || strings.Contains(f.Message, "xoxb") {
			t.Errorf("%s is %+v", code, err)
		}
	}
}

// Text that others wrote has no markup, mention or link of its own, and no value looks like another field.
func TestForeignTextStaysText(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	evil := "<!channel> *Pay* <https://evil.example.com|approve> :tada: @here & `x`"
	h.ask(func(g *posthouse.Gate) {
		g.Text = evil
		g.Payload = must.Get(json.Marshal(map[string]string{"a": "1\namount\n250", "b": "safe\u202eevil", "": ""}))(t)
	})
	m := h.message(1)
	if !strings.Contains(m.everything(), evil) || strings.Contains(m.everything(), "\u202e") { // the fake refuses all but plain text
		t.Errorf("the message is %s", m.everything())
	}
	if strings.ContainsAny(m.Text, "<>") {
		t.Errorf("its notification is %q", m.Text)
	}
	for _, b := range m.Blocks {
		for i, f := range b.Fields {
			if i%2 == 0 && strings.Contains(f.Text, "amount") {
				t.Errorf("a value is the label %q", f.Text)
			}
		}
	}
}

// What does not fit is cut, which the message says, and then no button decides.
func TestWhatIsNotShownIsNotDecided(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	n := 0
	for name, change := range map[string]func(*posthouse.Gate){
		"a long value": func(g *posthouse.Gate) {
			g.Payload = json.RawMessage(`{"note":"` + strings.Repeat("ä", 3000) + `","amount":1}`)
		},
		"many fields": func(g *posthouse.Gate) {
			all := map[string]int{}
			for i := range 100 {
				all[fmt.Sprint("field", i)] = i
			}
			g.Payload = must.Get(json.Marshal(all))(t)
		},
		"a large payload": func(g *posthouse.Gate) { g.Payload = json.RawMessage(`["` + strings.Repeat("x", 70<<10) + `"]`) },
		"a long text":     func(g *posthouse.Gate) { g.Text = "Pay?\n" + strings.Repeat("x", 5000) },
		"a long question": func(g *posthouse.Gate) { g.Text = strings.Repeat("ä", 2000) },
	} {
		h.ask(change)
		n++
		m := h.message(n)
		if m.button("approve") != "" || m.button("reject") != "" || m.button("open") == "" || !strings.Contains(m.everything(), "Not all is shown here") {
			t.Errorf("%s: the message is %+v", name, m)
		}
	}
	h.ask(func(g *posthouse.Gate) { g.Verdicts = []posthouse.Verdict{posthouse.Respond} })
	if m := h.message(n + 1); m.button("approve") != "" || m.button("open") == "" {
		t.Errorf("a question that wants words has %+v", m)
	}
}

// Direct messages go to the assignees, later to who has the right then; the channel hears of it in a thread.
func TestDirectMessages(t *testing.T) {
	w := newWorkspace(t)
	a := app(t, w)
	h := open(t, w, a, notify.Endpoint{Channel: must.Get(a.Channel("C0001", true))(t)})
	g := h.ask(func(g *posthouse.Gate) { g.Assignees = []string{"alice", "nobody"} })
	h.message(2)
	must.Get(h.led.Delegate(t.Context(), g.ID, posthouse.Delegation{By: "alice", To: "bob", Reason: "away"}))(t)
	h.message(3)
	h.until(func() bool { return len(w.replies()) == 2 })
	if r := w.replies()[0]; r.everything() != "It is now for bob to decide, says alice: away" {
		t.Errorf("the thread says %q", r.everything())
	}
	m := w.posted()[2]
	if m.Channel != "DU0002" || w.posted()[1].Channel != "DU0001" {
		t.Errorf("the messages went to %s and %s", w.posted()[1].Channel, m.Channel)
	}
	h.press(&m, "approve", "U0002")
	if d := h.gate(g.ID).Decision; d == nil || d.By != "bob" {
		t.Errorf("on record is %+v", d)
	}
	h.until(func() bool { // each message says so
		edits := 0
		for _, m := range w.posted() {
			edits += m.Edits
		}
		return edits == 3
	})
	var told []string
	h.until(func() bool {
		told = nil
		for _, x := range must.Get(h.n.Told(t.Context(), g.ID))(t).Items {
			told = append(told, fmt.Sprint(x.Event, x.State, x.To))
		}
		return len(told) == 3 && strings.HasSuffix(told[2], "told[]")
	})
	if got := strings.Join(told, " "); got != "gate.openedtold[alice] gate.assignedtold[bob] gate.decidedtold[]" {
		t.Errorf("the gate was told as %s", got)
	}
}

func TestOptions(t *testing.T) {
	good := func() *slack.Options {
		return &slack.Options{TokenFile: file(t, "xoxb-bot"), SigningSecretFile: file(t, signingSecret), Workspace: "T0001", People: map[string]string{"U0001": "alice"}}
	}
	for want, change := range map[string]func(*slack.Options){
		"tokenFile is missing":  func(o *slack.Options) { o.TokenFile = "" },
		"another kind of token": func(o *slack.Options) { o.TokenFile = file(t, "xapp-app") },
		"appTokenFile":          func(o *slack.Options) { o.AppTokenFile = file(t, "xoxb-bot") },
		"signingSecretFile":     func(o *slack.Options) { o.SigningSecretFile = "/nowhere" },
		"workspace":             func(o *slack.Options) { o.Workspace = "example" },
		"people has \"alice\"":  func(o *slack.Options) { o.People = map[string]string{"alice": "alice"} },
		"people.U0001":          func(o *slack.Options) { o.People = map[string]string{"U0001": ""} },
	} {
		if change == nil {
			continue
		}
		o := good()
		change(o)
		_, err := slack.New(o)
		must.Fail(t, err, posthouse.ErrInvalid)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	a := must.Get(slack.New(good()))(t)
	_, err := a.Channel("#finance", false)
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Channel("", false)
	must.Fail(t, err, posthouse.ErrInvalid)
}
