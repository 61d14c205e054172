package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// endpoints is a notifier in which endpoints decide for people, by the key "key" or one of their own.
type endpoints map[string]string

func (endpoints) List(context.Context) ([]notify.Status, error)                 { return nil, nil }
func (endpoints) Test(context.Context, string) (*notify.Tested, error)          { return nil, nil }
func (endpoints) Replay(context.Context, string, time.Time, string) error       { return nil }
func (endpoints) Resume(context.Context, string) error                          { return nil }
func (endpoints) Deliveries(context.Context, string) ([]notify.Delivery, error) { return nil, nil }
func (endpoints) Told(context.Context, posthouse.ID) (*notify.GateTold, error)  { return nil, nil }
func (endpoints) Metrics() []byte                                               { return nil }
func (e endpoints) DecidesFor(name string) (string, []posthouse.Hash) {
	keys := []posthouse.Hash{notify.KeyHash([]byte("key")), notify.KeyHash([]byte("key of " + name))}
	if e["rotated"] != "" {
		keys = keys[:1]
	}
	return e[name], keys
}

func (endpoints) Receive(http.ResponseWriter, *http.Request, string) error {
	return posthouse.NotFound("channel", "none")
}

func TestALinkThatCarriesTheRight(t *testing.T) {
	carriers := endpoints{"ops": "alice"}
	h := open(t, func(o *Options) { o.Notifier = carriers })
	_, g := h.waiting("t1")
	request := &notify.ApprovalRequest{Gate: must.Get(h.ledger.Gate(t.Context(), g.ID))(t), Endpoint: "ops", Person: "alice", Key: []byte("key of ops")}
	a := must.Get(h.server.Approval(t.Context(), request))(t)
	if again := must.Get(h.server.Approval(t.Context(), request))(t); again.Token != a.Token || !again.ExpiresAt.Equal(a.ExpiresAt) {
		t.Error("a message that is sent again has another token")
	}
	other := *request
	other.Endpoint, other.Key = "sales", []byte("key of sales")
	sales := must.Get(h.server.Approval(t.Context(), &other))(t)
	if sales.Token == a.Token {
		t.Error("two endpoints have one token")
	}
	h.refusedToken(g.ID, sales.Token) // it decides for nobody

	look := func(token string) *reply {
		return h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/by-token", as: "-", header: []string{"Authorization: Bearer " + token}})
	}
	for range 3 { // scanners follow links
		var shown TokenGate
		look(a.Token).want(http.StatusOK).into(&shown)
		if shown.Gate.ID != g.ID || shown.For != "alice" || shown.Decision != nil {
			t.Fatalf("its holder sees %+v", shown)
		}
	}
	look(sales.Token).refused(problem.CodeUnauthenticated)
	look("").refused(problem.CodeUnauthenticated)
	if now := must.Get(h.ledger.Gate(t.Context(), g.ID))(t); now.Decision != nil {
		t.Fatal("looking decided the gate")
	}
	carriers["ops"] = "bob"
	h.refusedToken(g.ID, a.Token) // the endpoint decides for another now
	carriers["ops"], carriers["rotated"] = "alice", "yes"
	h.refusedToken(g.ID, a.Token) // the secret that it follows from was taken out
	delete(carriers, "rotated")
	h.byToken(g.ID, a.Token, `{"verdict":"approve"}`).want(http.StatusOK)
	d := must.Get(h.ledger.Gate(t.Context(), g.ID))(t).Decision
	if d == nil || d.By != "alice" || d.Actor != "endpoint:ops" || d.Token == (posthouse.Hash{}) || d.Shown != g.Hash {
		t.Errorf("on record is %+v", d)
	}
	h.byToken(g.ID, a.Token, `{"verdict":"reject"}`).refused(posthouse.CodeDecided)
	request.Gate = must.Get(h.ledger.Gate(t.Context(), g.ID))(t)
	_, err := h.server.Approval(t.Context(), request)
	must.Fail(t, err, posthouse.ErrDecided)
}

// The page of such a link is served without a login and holds nothing of the gate.
func TestThePageOfALinkHoldsNothing(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("t1")
	r := h.send(ask{method: "GET", path: "/decide/" + string(g.ID), as: "-"}).want(http.StatusOK)
	if strings.Contains(string(r.body), string(g.ID)) || strings.Contains(string(r.body), g.Text) && g.Text != "" || !strings.Contains(string(r.body), "/assets/decide-") {
		t.Errorf("the page is %s", r.body)
	}
}

// What a link shows is all that its decision counts for, however large.
func TestALinkShowsTheWholeContent(t *testing.T) {
	h := open(t, func(o *Options) { o.Notifier = endpoints{"ops": "alice"} })
	h.program.idle = true
	payload := `{"note":"` + strings.Repeat("harmless ", 10_000) + `","amount":500000}`
	g := h.proposed("t", payload)
	one := must.Get(h.ledger.Gate(t.Context(), g.ID))(t)
	a := must.Get(h.server.Approval(t.Context(), &notify.ApprovalRequest{Gate: one, Endpoint: "ops", Person: "alice", Key: []byte("key")}))(t)
	var shown TokenGate
	h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/by-token", as: "-", header: []string{"Authorization: Bearer " + a.Token}}).want(http.StatusOK).into(&shown)
	if string(shown.Gate.Payload) != payload || len(shown.Gate.Fields) != 2 {
		t.Errorf("of %d bytes it shows %d, in %d fields", len(payload), len(shown.Gate.Payload), len(shown.Gate.Fields))
	}
}

// The page shows numbers as on record, and decides by a second button, which the first one opens.
func TestThePageOfALinkDecides(t *testing.T) {
	h := open(t, func(o *Options) { o.Notifier = endpoints{"ops": "alice"} })
	h.program.idle = true
	g := h.proposed("t", `{"account":9007199254740993,"amount":500}`)
	gate := must.Get(h.ledger.Gate(t.Context(), g.ID))(t)
	a := must.Get(h.server.Approval(t.Context(), &notify.ApprovalRequest{Gate: gate, Endpoint: "ops", Person: "alice", Key: []byte("key")}))(t)
	b := h.openPage(chromium(t), tokens.Viewer, "/decide/"+string(g.ID)+"#"+a.Token)
	const asked, send = `document.querySelector("[aria-label='what is asked']")`, `[...document.querySelectorAll("form button")].find((b) => b.textContent.startsWith("Approve"))`
	b.wait(asked)
	if s := b.text(asked + ".textContent"); !strings.Contains(s, "9007199254740993") {
		t.Errorf("what is asked is %q", s)
	}
	if s := b.text(`document.querySelector("header").textContent`); !strings.HasSuffix(s, "you decide as alice") {
		t.Errorf("the page says %q", s)
	}
	b.do(`document.querySelector("footer button").click()`)
	b.wait(send + "?.disabled === false")
	if now := must.Get(h.ledger.Gate(t.Context(), g.ID))(t); now.Decision != nil {
		t.Fatal("opening the page, or one press, decided")
	}
	b.do(send + ".click()")
	b.wait(outcome)
	b.wait(outcome + `.textContent.includes("approved by alice")`)
	if d := must.Get(h.ledger.Gate(t.Context(), g.ID))(t).Decision; d == nil || d.By != "alice" || d.Actor != "endpoint:ops" || d.Shown != g.Hash {
		t.Errorf("on record is %+v", d)
	}
}
