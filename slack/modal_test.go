package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/slack"
)

const orderSchema = `{"type":"object","properties":{"account":{"type":"integer"},"amount":{"type":"number","maximum":500},"note":{"type":"string"}},"required":["account","amount"],"additionalProperties":false}`

// order asks about a payload with an exact number and a text that others wrote.
func order(g *posthouse.Gate) {
	g.Payload = json.RawMessage(`{"account":9007199254740993, "amount":250.50, "note":"<!channel> *x* & \u202e\"y\"", "to":"line 1\nline 2"}`)
}

// An edit changes what was typed, and leaves every other value as it is on record.
func TestAnEdit(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(order)
	h.press(h.message(1), "form.edit", "U0001")
	m := h.modal(1)
	if m.Title.Text != "Approve with changes" || !strings.Contains(m.everything(), "It is late.") || m.input("account").Element.InitialValue != "9007199254740993" ||
		m.input("amount").Element.InitialValue != "250.50" || m.input("to").Element.InitialValue != "line 1\nline 2" {
		t.Errorf("the modal is %+v", m)
	}
	if is := m.input("note").Element.InitialValue; is != `"<!channel> *x* & \u202e\"y\""` {
		t.Errorf("a text with hidden characters is edited as %q", is)
	}
	if r := h.submit(m, "U0001", nil); !strings.Contains(r.Errors["value0"], "Nothing is changed") {
		t.Errorf("without a change it says %+v", r)
	}
	if r := h.submit(m, "U0001", map[string]string{"amount": "25O"}); !strings.Contains(r.Errors[m.input("amount").BlockID], "must be JSON") || len(r.Errors) != 1 {
		t.Errorf("a letter in a number is %+v", r)
	}
	if d := h.gate(g.ID).Decision; d != nil {
		t.Fatalf("it is decided: %+v", d)
	}
	changes := map[string]string{"amount": "99.90", "to": `<@U0002> "x"`, "Reason": "less <b>is</b> more"}
	if r := h.submit(m, "U0001", changes); r.Action != "" {
		t.Fatalf("it says %+v", r)
	}
	d := h.gate(g.ID).Decision
	want := `{"account":9007199254740993,"amount":99.90,"note":"\u003c!channel\u003e *x* \u0026 \u202e\"y\"","to":"\u003c@U0002\u003e \"x\""}` // as the log writes texts
	if d == nil || d.Verdict != posthouse.Edit || string(d.Value) != want || d.By != "alice" || d.Actor != "slack:U0001" || d.Reason != "less <b>is</b> more" || d.Shown != g.Hash {
		t.Fatalf("on record is %+v\n%s", d, d.Value)
	}
	h.until(func() bool { return w.posted()[0].Edits == 1 })
	if r := h.submit(m, "U0001", changes); r.Action != "" { // sent again
		t.Errorf("the same again says %+v", r)
	}
	changes["amount"] = "1"
	if r := h.submit(m, "U0001", changes); !strings.HasPrefix(r.says(), "You decided nothing") || !strings.Contains(r.says(), "Approved with changes by alice") {
		t.Errorf("other values after the decision: %+v", r)
	}
	if r := h.submit(m, "U0002", changes); !strings.HasPrefix(r.says(), "You decided nothing") {
		t.Errorf("another person after the decision: %+v", r)
	}
	if again := h.gate(g.ID).Decision; again.Seq != d.Seq || string(again.Value) != want || again.Reason != d.Reason {
		t.Errorf("the decision became %+v", again)
	}
}

// A value that breaks the schema is refused beside its input, and what was typed stays.
func TestAnEditThatDoesNotFit(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(func(g *posthouse.Gate) {
		g.Payload, g.Schema = json.RawMessage(`{"account":9007199254740993,"amount":250.50,"note":""}`), json.RawMessage(orderSchema)
	})
	h.press(h.message(1), "form.edit", "U0001")
	m := h.modal(1)
	for typed, want := range map[string]string{"501": "500", `"many"`: "", "": "must be JSON", "1e999999": "", `{"a":1,"a":2}`: ""} {
		if r := h.submit(m, "U0001", map[string]string{"amount": typed}); len(r.Errors) != 1 || !strings.Contains(r.Errors[m.input("amount").BlockID]+r.Errors["value0"], want) {
			t.Errorf("the amount %s is answered with %+v", typed, r)
		}
	}
	if r := h.submit(m, "U0001", map[string]string{"amount": "1", "Reason": strings.Repeat("ä", 3000)}); r.Errors["reason"] == "" {
		t.Errorf("a long reason is answered with %+v", r)
	}
	if d := h.gate(g.ID).Decision; d != nil {
		t.Fatalf("it is decided: %+v", d)
	}
	if r := h.submit(m, "U0001", map[string]string{"amount": "499.99"}); r.Action != "" || string(h.gate(g.ID).Decision.Value) != `{"account":9007199254740993,"amount":499.99,"note":""}` {
		t.Errorf("it says %+v, and on record is %s", r, h.gate(g.ID).Decision.Value)
	}
}

// An answer has the inputs of its schema: of an object one each, of choices a list, else words.
func TestAnAnswer(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	for i, c := range []struct {
		schema string
		typed  map[string]string
		want   string // on record, or the label of the input at fault
		fault  bool
	}{
		{"", map[string]string{"Answer": `ask "bob" <now>`}, `"ask \"bob\" \u003cnow\u003e"`, false},
		{"", map[string]string{"Answer": "42"}, `"42"`, false},
		{"", nil, `""`, false},
		{`{"type":"string"}`, map[string]string{"Answer": "42"}, `"42"`, false},
		{`{"type":"integer"}`, map[string]string{"Answer": "9007199254740993"}, `9007199254740993`, false},
		{`{"type":"integer"}`, map[string]string{"Answer": "4.2"}, "Answer", true},
		{`{"type":"boolean"}`, map[string]string{"Answer": "false"}, `false`, false},
		{`{"type":"boolean"}`, nil, "Answer", true},
		{`{"enum":["red",7]}`, map[string]string{"Answer": "7"}, `7`, false},
		{`{"type":["null","array"],"items":{"type":"integer"}}`, map[string]string{"Answer": "[1,2]"}, `[1,2]`, false},
		{`{"type":"object","properties":{"when":{"type":"string","title":"Day"},"size":{"enum":["S","L"]},"n":{"type":"integer"}},"required":["size"]}`, map[string]string{"size": "L", "Day (when)": "monday"}, `{"when":"monday","size":"L"}`, false},
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}`, map[string]string{"n": "0"}, "n", true},
	} {
		g := h.ask(func(g *posthouse.Gate) {
			g.Schema, g.Verdicts = json.RawMessage(c.schema), []posthouse.Verdict{posthouse.Respond}
		})
		m := h.message(i + 1)
		if m.button("approve") != "" || m.button("form.reason") != "" {
			t.Errorf("a question that wants an answer has %+v", m)
		}
		h.press(m, "form.respond", "U0002")
		form := h.modal(i + 1)
		r, d := h.submit(form, "U0002", c.typed), h.gate(g.ID).Decision
		switch {
		case c.fault && (d != nil || r.Errors[form.input(c.want).BlockID] == ""):
			t.Errorf("%s with %v is answered with %+v, and on record is %+v", c.schema, c.typed, r, d)
		case !c.fault && (r.Action != "" || d == nil || d.Verdict != posthouse.Respond || string(d.Value) != c.want || d.By != "bob"):
			t.Errorf("%s with %v is answered with %+v, and on record is %+v", c.schema, c.typed, r, d)
		}
	}
}

// A reason goes on record with the verdict that was chosen; in a quorum it is a vote.
func TestAReason(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask()
	h.press(h.message(1), "form.reason", "U0001")
	m := h.modal(1)
	if !strings.Contains(m.everything(), "account\n9007199254740993") {
		t.Errorf("the modal shows %s", m.everything())
	}
	if r := h.submit(m, "U0001", map[string]string{"Reason": "too much"}); r.Errors["verdict"] == "" || h.gate(g.ID).Decision != nil {
		t.Errorf("without a verdict it says %+v", r)
	}
	if r := h.submit(m, "U0001", map[string]string{"Decision": "Reject", "Reason": "too much"}); r.Action != "" {
		t.Errorf("it says %+v", r)
	}
	if d := h.gate(g.ID).Decision; d.Verdict != posthouse.Reject || d.Reason != "too much" || d.By != "alice" {
		t.Errorf("on record is %+v", d)
	}
	votes := h.ask(func(g *posthouse.Gate) { g.Quorum = &posthouse.Quorum{Need: 2} })
	h.press(h.message(2), "form.reason", "U0001")
	if r := h.submit(h.modal(2), "U0001", map[string]string{"Decision": "Approve", "Reason": "fine"}); !strings.Contains(r.says(), "It takes 1 more") {
		t.Errorf("a vote says %+v", r)
	}
	if g := h.gate(votes.ID); len(g.Votes) != 1 || g.Votes[0].Reason != "fine" || g.Decision != nil {
		t.Errorf("the votes are %+v", g.Votes)
	}
	if m := h.message(2); m.button("form.edit") != "" || m.button("form.respond") != "" {
		t.Errorf("a question that takes votes has %+v", m)
	}
}

// A modal counts for the content that it shows: after the question was asked again it decides nothing, and says what
// has changed. Metadata of another question is refused.
func TestAnOutdatedModal(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask()
	before := h.message(1)
	h.press(before, "form.reason", "U0001")
	h.press(before, "form.edit", "U0001")
	next := must.Get(h.led.Commit(t.Context(), &ledger.Draft{
		Thread:     g.Thread,
		Checkpoint: &posthouse.Change{Parent: g.Checkpoint, Status: posthouse.StatusWaiting, Graph: "refunds"},
		Gates:      []posthouse.Gate{{Name: g.Name, Text: g.Text, Payload: json.RawMessage(`{"account":9007199254740993,"amount":999}`), RequestedBy: "dora", Supersedes: g.ID}},
	}))(t)
	now := next.Gates[0].ID
	r := h.submit(h.modal(1), "U0001", map[string]string{"Decision": "Approve", "Reason": "fine"})
	if !strings.HasPrefix(r.says(), "You decided nothing") || !strings.Contains(r.says(), "amount: 250.50 → 999") {
		t.Errorf("an outdated modal says %q", r.says())
	}
	for _, typed := range []string{"1", "not a number"} {
		if r := h.submit(h.modal(2), "U0001", map[string]string{"amount": typed}); !strings.HasPrefix(r.says(), "You decided nothing") {
			t.Errorf("an outdated edit says %+v", r)
		}
	}
	forged := *h.modal(1)
	forged.PrivateMetadata = strings.Replace(forged.PrivateMetadata, string(g.ID), string(now), 1)
	if r := h.submit(&forged, "U0001", map[string]string{"Decision": "Approve", "Reason": "fine"}); !strings.Contains(r.says(), "not what gate") {
		t.Errorf("a modal with the hash of another content says %q", r.says())
	}
	for _, odd := range []string{"", "{}", `{"gate":"x"}`, strings.Replace(h.modal(1).PrivateMetadata, `"verdict":""`, `"verdict":"cancel"`, 1)} {
		forged.PrivateMetadata = odd
		if r := h.submit(&forged, "U0001", nil); !strings.HasPrefix(r.says(), "Nothing was decided") && !strings.HasPrefix(r.says(), "You decided nothing") {
			t.Errorf("the metadata %q is answered with %+v", odd, r)
		}
	}
	h.press(before, "form.edit", "U0001") // of the message as it was
	if told := h.told(1); !strings.HasPrefix(told.Text, "You decided nothing") || len(w.modals) != 2 {
		t.Errorf("the button of an outdated message is told %+v", told)
	}
	if d := h.gate(now).Decision; d != nil {
		t.Errorf("the new question is decided: %+v", d)
	}
}

// Who is not known sees no modal, and who may not decide is told so in it. Both decide nothing, by whatever they send.
func TestModalsOfOthers(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(func(g *posthouse.Gate) { g.Assignees = []string{"alice"} })
	m := h.message(1)
	h.press(m, "form.edit", "U9999")
	if told := h.told(1); !strings.Contains(told.Text, "does not know you") || len(w.modals) != 0 {
		t.Errorf("a stranger is told %+v", told)
	}
	h.press(m, "form.edit", "U0001")
	form, values := h.modal(1), map[string]string{"amount": "1"}
	if r := h.submit(form, "U9999", values); !strings.Contains(r.says(), "does not know you") {
		t.Errorf("a stranger who submits is told %+v", r)
	}
	if r := h.submit(form, "U0002", values); !strings.HasPrefix(r.says(), "Nothing was decided") {
		t.Errorf("bob is told %+v", r)
	}
	code, err := h.receive(signed(form.filled("U0001", "T0666", values), time.Now(), signingSecret))
	if err != nil || code != http.StatusOK || h.gate(g.ID).Decision != nil {
		t.Errorf("a member of another workspace: %d, %v, %+v", code, err, h.gate(g.ID).Decision)
	}
	_, err = h.receive(signed(form.filled("U0001", "T0001", values), time.Now(), "another"))
	must.Fail(t, err, posthouse.ErrForbidden)
	if d := h.gate(g.ID).Decision; d != nil {
		t.Errorf("on record is %+v", d)
	}
}

// Where Slack does not open a modal, or the store does not answer, nothing is decided, and another try does it.
func TestModalsWhileSomethingIsDown(t *testing.T) {
	w := newWorkspace(t)
	a := app(t, w)
	h := open(t, w, a, notify.Endpoint{})
	g := h.ask()
	m := h.message(1)
	w.set(func() { w.late = true })
	h.press(m, "form.edit", "U0001")
	if told := h.told(1); !strings.Contains(told.Text, "Press again") {
		t.Errorf("a trigger that expired is told %+v", told)
	}
	w.set(func() { w.late = false })
	same := pressing(m, "form.edit", "U0001", "T0001")
	for i := range 2 { // a trigger opens one modal
		if code, err := h.receive(signed(same, time.Now().Add(time.Duration(i)*time.Second), signingSecret)); err != nil || code != http.StatusOK {
			t.Fatalf("a button: %d, %v", code, err)
		}
	}
	h.told(2)
	w.set(func() {
		w.before = func(rw http.ResponseWriter, _ string, _ url.Values) bool { cut(rw); return true }
	})
	h.press(m, "form.edit", "U0001")
	w.set(func() { w.before = nil })
	down := &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the store does not answer"}
	n := must.Get(notify.New(h.led, []notify.Endpoint{{Name: "finance", Channel: must.Get(a.Channel("C0001", false))(t)}}, &notify.Options{
		Decide: func(context.Context, posthouse.ID, posthouse.Decision) (*posthouse.Gate, error) { return nil, down },
	}))(t)
	form, up := h.modal(1), h.n
	h.n = n
	r := h.submit(form, "U0001", map[string]string{"amount": "1"})
	h.n = up
	if !strings.Contains(r.Errors["reason"], "Try again") || h.gate(g.ID).Decision != nil {
		t.Errorf("while the store is down it says %+v", r)
	}
	if r := h.submit(form, "U0001", map[string]string{"amount": "1"}); r.Action != "" || h.gate(g.ID).Decision.Verdict != posthouse.Edit {
		t.Errorf("then it says %+v", r)
	}
}

// A decision that takes longer than Slack waits is made; who gave it hears what the modal could not say.
func TestAModalThatIsLate(t *testing.T) {
	w := newWorkspace(t)
	a := app(t, w)
	a.SetPatience(time.Millisecond)
	h := open(t, w, a, notify.Endpoint{})
	g := h.ask()
	h.press(h.message(1), "form.edit", "U0001")
	h.until(func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.modals) == 1 })
	goOn := make(chan struct{})
	n := must.Get(notify.New(h.led, []notify.Endpoint{{Name: "finance", Channel: must.Get(a.Channel("C0001", false))(t)}}, &notify.Options{
		Decide: func(ctx context.Context, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
			<-goOn
			return h.led.Decide(ctx, id, d)
		},
	}))(t)
	h.n = n
	m := h.modal(1)
	for _, amount := range []string{"1", "2"} {
		if r := h.submit(m, "U0001", map[string]string{"amount": amount}); r.Action != "" {
			t.Errorf("it says %+v", r)
		}
	}
	close(goOn)
	if told := h.told(1); told.Channel != "C0001" || told.User != "U0001" || !strings.HasPrefix(told.Text, "You decided nothing") {
		t.Errorf("the second is told %+v", told)
	}
	if d := h.gate(g.ID).Decision; d == nil || d.Verdict != posthouse.Edit || len(w.whispered()) != 1 {
		t.Errorf("on record is %+v, and told were %v", d, w.whispered())
	}
}

// What does not fit into a modal is given on the question's page.
func TestWhatNoModalHolds(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	many := map[string]any{}
	for i := range 50 {
		many[fmt.Sprint("p", i)] = map[string]string{"type": "string"}
	}
	schema := must.Get(json.Marshal(map[string]any{"type": "object", "properties": many}))(t)
	h.ask(func(g *posthouse.Gate) { g.Payload = json.RawMessage(`{}`) })
	h.ask(func(g *posthouse.Gate) { g.Schema = schema })
	h.press(h.message(1), "form.edit", "U0001")
	h.told(1)
	h.press(h.message(2), "form.respond", "U0001")
	h.told(2)
	for _, told := range w.whispered() {
		if !strings.Contains(told.Text, "does not fit") {
			t.Errorf("it is told %+v", told)
		}
	}
	if len(w.modals) > 0 {
		t.Errorf("there are %d modals", len(w.modals))
	}
}

// Over Socket Mode a modal's answer is the payload of the acknowledgement.
func TestAModalOverSocketMode(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w, func(o *slack.Options) { o.SigningSecretFile, o.AppTokenFile = "", file(t, "xapp-app") }), notify.Endpoint{})
	h.until(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.socket != nil
	})
	g := h.ask()
	send := func(id string, payload []byte) ack {
		t.Helper()
		w.mu.Lock()
		err := w.socket.WriteJSON(map[string]any{"type": "interactive", "envelope_id": id, "payload": json.RawMessage(payload), "accepts_response_payload": true})
		w.mu.Unlock()
		must.Do(t, err)
		return <-w.acks
	}
	if a := send("e1", pressing(h.message(1), "form.edit", "U0001", "T0001")); len(a.Payload) > 0 {
		t.Errorf("a button is acknowledged with %s", a.Payload)
	}
	m := h.modal(1)
	if r := w.reacts(m, send("e2", m.filled("U0001", "T0001", map[string]string{"amount": "x"})).Payload); r.Errors[m.input("amount").BlockID] == "" {
		t.Errorf("a wrong number is acknowledged with %+v", r)
	}
	if a := send("e3", m.filled("U0001", "T0001", map[string]string{"amount": "2"})); len(a.Payload) > 0 || h.gate(g.ID).Decision == nil {
		t.Errorf("a good one is acknowledged with %s", a.Payload)
	}
}
