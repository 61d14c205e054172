package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/slack"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// A house is a Ledger whose questions go to a workspace.
type house struct {
	t     *testing.T
	w     *workspace
	store posthouse.Store
	led   *ledger.Ledger
	n     *notify.Notifier
	stop  func()
}

// app returns an app of a workspace, with a request URL.
func app(t *testing.T, w *workspace, change ...func(*slack.Options)) *slack.App {
	t.Helper()
	o := &slack.Options{
		TokenFile: file(t, "xoxb-bot"), SigningSecretFile: file(t, signingSecret), Workspace: "T0001", URL: w.URL + "/api/", Client: w.Client(),
		People: map[string]string{"U0001": "alice", "U0002": "bob", "U0003": "carl"},
	}
	for _, f := range change {
		f(o)
	}
	return must.Get(slack.New(o))(t)
}

func open(t *testing.T, w *workspace, a *slack.App, e notify.Endpoint) *house {
	t.Helper()
	h := &house{t: t, w: w, store: memstore.New()}
	h.led = must.Get(ledger.Open(h.store, &ledger.Options{Validate: gate.Validator()}))(t)
	t.Cleanup(func() { must.Do(t, h.led.Close()) })
	h.run(a, e)
	return h
}

// run has a notifier until stop is called, or the test ends.
func (h *house) run(a *slack.App, e notify.Endpoint) {
	h.t.Helper()
	e.Name, e.Retry = "finance", posthouse.RetryPolicy{InitialDelay: time.Millisecond, MaxDelay: time.Millisecond}
	if e.Channel == nil {
		e.Channel = must.Get(a.Channel("C0001", false))(h.t)
	}
	h.n = must.Get(notify.New(h.led, []notify.Endpoint{e}, &notify.Options{URL: "https://posthouse.example.com", Decide: h.led.Decide}))(h.t)
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.n.Run(ctx); err != nil {
			h.t.Error(err)
		}
	}()
	h.stop = func() { cancel(); <-done }
	h.t.Cleanup(h.stop)
	h.until(func() bool { return must.Get(h.n.List(h.t.Context()))(h.t)[0].State != notify.StateNew })
}

func (h *house) until(is func() bool) {
	h.t.Helper()
	for !is() {
		if h.t.Context().Err() != nil {
			h.t.Fatal("it never came to that")
		}
		runtime.Gosched()
	}
}

func (h *house) ask(change ...func(*posthouse.Gate)) *posthouse.Gate {
	h.t.Helper()
	g := posthouse.Gate{Name: "refund", Text: "Refund order 7?\nIt is late.", Payload: json.RawMessage(`{"account":9007199254740993,"amount":250.50}`), RequestedBy: "dora"}
	for _, f := range change {
		f(&g)
	}
	done := must.Get(h.led.Commit(h.t.Context(), &ledger.Draft{
		Thread:     "order-" + string(ledger.NewID(h.led)),
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Graph: "refunds"}, Gates: []posthouse.Gate{g},
	}))(h.t)
	return h.gate(done.Gates[0].ID)
}

func (h *house) gate(id posthouse.ID) *posthouse.Gate {
	h.t.Helper()
	return must.Get(h.led.Gate(h.t.Context(), id))(h.t)
}

// message waits for the newest message about a gate.
func (h *house) message(n int) *message {
	h.t.Helper()
	h.until(func() bool { return len(h.w.posted()) >= n })
	return &h.w.posted()[n-1]
}

// receive sends a request to the request URL, and returns its status.
func (h *house) receive(r *http.Request) (int, error) {
	w := httptest.NewRecorder()
	err := h.n.Receive(w, r, "slack")
	return w.Code, err
}

// press has a member press a button, by the request URL.
func (h *house) press(m *message, name, user string) {
	h.t.Helper()
	if code, err := h.receive(signed(pressing(m, name, user, "T0001"), time.Now(), signingSecret)); err != nil || code != http.StatusOK {
		h.t.Fatalf("a button: %d, %v", code, err)
	}
}

// told waits until somebody was told, and returns what.
func (h *house) told(n int) whisper {
	h.t.Helper()
	h.until(func() bool { return len(h.w.whispered()) >= n })
	return h.w.whispered()[n-1]
}

// A question comes with its values as on record. The button decides in the member's name, once, and the message says so.
func TestAButtonDecides(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(func(g *posthouse.Gate) { g.ExpiresAt = time.Now().Add(time.Hour) })
	m := h.message(1)
	for _, want := range []string{"Refund order 7?", "It is late.", "account\n9007199254740993", "amount\n250.50"} {
		if !strings.Contains(m.everything(), want) {
			t.Errorf("the message has no %q:\n%s", want, m.everything())
		}
	}
	if m.Channel != "C0001" || m.button("approve") == "" || m.button("reject") == "" || m.button("open") != "https://posthouse.example.com/gates/"+string(g.ID) {
		t.Errorf("the message is %+v", m)
	}
	h.press(m, "approve", "U0001")
	d := h.gate(g.ID).Decision // it is on record before Slack is answered
	if d == nil || d.Verdict != posthouse.Approve || d.By != "alice" || d.Actor != "slack:U0001" || d.Shown != g.Hash {
		t.Fatalf("on record is %+v", d)
	}
	h.until(func() bool { return w.posted()[0].Edits == 1 })
	after := w.posted()[0]
	if !strings.Contains(after.everything(), "Approved by alice, ") || after.button("approve") != "" || after.button("reject") != "" {
		t.Errorf("afterwards the message is %s", after.everything())
	}
	h.press(m, "approve", "U0001") // a second click, on the message as it was
	h.press(m, "reject", "U0002")
	if told := h.told(1); told.User != "U0002" || !strings.Contains(told.Text, "Approved by alice") || !strings.HasPrefix(told.Text, "You decided nothing") {
		t.Errorf("who came second is told %+v", told)
	}
	if len(w.posted()) != 1 || len(w.whispered()) != 1 {
		t.Errorf("there are %d messages and %v", len(w.posted()), w.whispered())
	}
}

// Every rule of the other doors holds here, and who may not decide is told why.
func TestWhoMayNotDecide(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	for i, c := range []struct {
		user, team string
		change     func(*posthouse.Gate)
		want       string
	}{
		{"U9999", "T0001", func(*posthouse.Gate) {}, "does not know you here"},
		{"U0001", "T0002", func(*posthouse.Gate) {}, "does not know you here"}, // a guest of another workspace with the same ID
		{"U0002", "T0001", func(g *posthouse.Gate) { g.Assignees = []string{"alice"} }, "Nothing was decided"},
		{"U0003", "T0001", func(g *posthouse.Gate) { g.RequestedBy = "carl" }, "Nothing was decided"},
	} {
		g := h.ask(c.change)
		m := h.message(i + 1)
		if code, err := h.receive(signed(pressing(m, "approve", c.user, c.team), time.Now(), signingSecret)); err != nil || code != http.StatusOK {
			t.Fatalf("a button: %d, %v", code, err)
		}
		if told := h.told(i + 1); told.User != c.user || told.Channel != "C0001" || !strings.Contains(told.Text, c.want) {
			t.Errorf("%s of %s is told %+v", c.user, c.team, told)
		}
		if d := h.gate(g.ID).Decision; d != nil {
			t.Errorf("%s of %s decided: %+v", c.user, c.team, d)
		}
	}
}

// Of a quorum each vote counts once, whoever presses how often.
func TestAQuorum(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(func(g *posthouse.Gate) { g.Quorum = &posthouse.Quorum{Need: 2}; g.Assignees = []string{"alice", "bob"} })
	m := h.message(1)
	h.press(m, "approve", "U0001")
	if told := h.told(1); told.Text != "Your vote is on record. It takes 1 more to approve." {
		t.Errorf("who voted is told %+v", told)
	}
	h.press(m, "approve", "U0001")
	if told := h.told(2); told.Text != "Your vote was on record before." {
		t.Errorf("who votes again is told %+v", told)
	}
	h.press(m, "approve", "U0002")
	if d := h.gate(g.ID).Decision; d == nil || len(h.gate(g.ID).Votes) != 2 {
		t.Errorf("after two votes there is %+v", h.gate(g.ID))
	}
}

// A button of a question that was asked again with another content decides nothing, and says what has changed.
func TestAnOutdatedButton(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask()
	m := h.message(1)
	g2 := *g
	next := must.Get(h.led.Commit(t.Context(), &ledger.Draft{
		Thread:     g.Thread,
		Checkpoint: &posthouse.Change{Parent: g.Checkpoint, Status: posthouse.StatusWaiting, Graph: "refunds"},
		Gates:      []posthouse.Gate{{Name: g2.Name, Text: g2.Text, Payload: json.RawMessage(`{"account":9007199254740993,"amount":999}`), RequestedBy: "dora", Supersedes: g.ID}},
	}))(t)
	h.message(2)
	h.until(func() bool { return w.posted()[0].Edits == 1 })
	h.press(m, "approve", "U0001")
	if told := h.told(1); !strings.HasPrefix(told.Text, "You decided nothing") {
		t.Errorf("an outdated button says %q", told.Text)
	} else if h.gate(g.ID).Decision.Successor != "" && !strings.Contains(told.Text, "amount: 250.50 → 999") {
		t.Errorf("an outdated button does not say what has changed: %q", told.Text)
	}
	if d := h.gate(next.Gates[0].ID).Decision; d != nil {
		t.Errorf("the new question is decided: %+v", d)
	}
	forged := *m
	for i := range forged.Blocks { // a hash that is not the question's
		for j := range forged.Blocks[i].Elements {
			e := &forged.Blocks[i].Elements[j]
			e.Value = strings.Replace(e.Value, string(g.ID), string(next.Gates[0].ID), 1)
		}
	}
	h.press(&forged, "approve", "U0001")
	if told := h.told(2); !strings.Contains(told.Text, "not what gate") {
		t.Errorf("a button with the hash of another content says %q", told.Text)
	}
	if d := h.gate(next.Gates[0].ID).Decision; d != nil {
		t.Errorf("the new question is decided: %+v", d)
	}
}

// Only what Slack signed just now, and for the first time, is taken.
func TestRequestsThatSlackDidNotSend(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask()
	m := h.message(1)
	payload := pressing(m, "approve", "U0001", "T0001")
	now := time.Now()
	good := signed(payload, now, signingSecret)
	if v, err := slackgo.NewSecretsVerifier(good.Header, signingSecret); err != nil { // by the library, too
		t.Fatal(err)
	} else {
		body := must.Get(io.ReadAll(good.Body))(t)
		_, _ = v.Write(body)
		must.Do(t, v.Ensure())
	}
	altered := signed(payload, now, signingSecret)
	altered.Body = io.NopCloser(strings.NewReader(url.Values{"payload": {strings.Replace(string(payload), "U0001", "U0002", 1)}}.Encode()))
	stamped := signed(payload, now, signingSecret)
	stamped.Header.Set("X-Slack-Request-Timestamp", fmt.Sprint(now.Unix()+1))
	for name, r := range map[string]*http.Request{
		"no signature": httptest.NewRequest(http.MethodPost, "/", strings.NewReader("payload={}")),
		"another key":  signed(payload, now, "another"), "an old one": signed(payload, now.Add(-6*time.Minute), signingSecret),
		"one to come": signed(payload, now.Add(6*time.Minute), signingSecret), "an altered body": altered, "another time": stamped,
	} {
		_, err := h.receive(r)
		must.Fail(t, err, posthouse.ErrForbidden)
		if d := h.gate(g.ID).Decision; d != nil {
			t.Fatalf("%s decides: %+v", name, d)
		}
	}
	if code, err := h.receive(signed(payload, now, signingSecret)); err != nil || code != http.StatusOK {
		t.Fatalf("what Slack signed: %d, %v", code, err)
	}
	_, err := h.receive(signed(payload, now, signingSecret))
	must.Fail(t, err, posthouse.ErrForbidden) // a replay
	for _, odd := range []string{`[]`, `{"type":"block_actions"}`, `{"type":"block_actions","actions":[{"action_id":"posthouse.approve","type":"button","value":"{"}],"user":{"id":"U0001","team_id":"T0001"}}`} {
		if _, err := h.receive(signed([]byte(odd), now, signingSecret)); err != nil && !strings.Contains(err.Error(), "payload") {
			t.Errorf("%s: %v", odd, err)
		}
	}
	bare := app(t, w, func(o *slack.Options) { o.SigningSecretFile = "" })
	must.Fail(t, bare.Receive(httptest.NewRecorder(), signed(payload, now, ""), nil), posthouse.ErrForbidden)
}

// Over Socket Mode nothing listens for Slack, and an envelope is acknowledged once its answer is on record.
func TestSocketMode(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w, func(o *slack.Options) { o.SigningSecretFile, o.AppTokenFile = "", file(t, "xapp-app") }), notify.Endpoint{})
	connected := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.socket != nil
	}
	h.until(connected)
	g := h.ask()
	m := h.message(1)
	send := func(id, user string) {
		t.Helper()
		var c any
		must.Do(t, json.Unmarshal(pressing(m, "approve", user, "T0001"), &c))
		w.mu.Lock()
		defer w.mu.Unlock()
		must.Do(t, w.socket.WriteJSON(map[string]any{"type": "interactive", "envelope_id": id, "payload": c, "accepts_response_payload": false}))
	}
	send("e1", "U9999")
	if id := (<-w.acks).EnvelopeID; id != "e1" || h.gate(g.ID).Decision != nil {
		t.Errorf("%s is acknowledged, and there is %+v", id, h.gate(g.ID).Decision)
	}
	h.told(1)
	send("e2", "U0002")
	if id := (<-w.acks).EnvelopeID; id != "e2" {
		t.Errorf("%s is acknowledged", id)
	}
	if d := h.gate(g.ID).Decision; d == nil || d.By != "bob" {
		t.Errorf("on record is %+v", d)
	}
	send("e2", "U0002") // Slack sends again what it thinks was lost
	<-w.acks
	w.mu.Lock()
	_ = w.socket.Close()
	w.socket = nil
	w.mu.Unlock()
	h.until(connected) // it connects again
	send("e3", "U0002")
	<-w.acks
	if n := len(w.whispered()); n != 1 {
		t.Errorf("%d members were told something: %v", n, w.whispered())
	}
}
