package mail_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/mail"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people are those whom the configuration of the tests knows.
var people = map[string]string{"alice": "alice@example.com", "bob": "Bob <bob@example.com>"}

// sender returns a sender to a server, with a password where that asks for one.
func sender(t *testing.T, s *smtpServer, change ...func(*mail.Options)) *mail.Sender {
	t.Helper()
	o := &mail.Options{Server: s.address(), From: "Posthouse <posthouse@example.com>", Bounces: "bounces@example.com", People: people, TLSConfig: &tls.Config{RootCAs: s.roots}}
	if s.password != "" {
		o.Username, o.PasswordFile = "posthouse", file(t, s.password+"\n")
	}
	for _, f := range change {
		f(o)
	}
	return must.Get(mail.New(o))(t)
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A house is a Ledger with a notifier that sends mails.
type house struct {
	t   *testing.T
	led *ledger.Ledger
	n   *notify.Notifier
}

func open(t *testing.T, e notify.Endpoint) *house {
	t.Helper()
	led := must.Get(ledger.Open(memstore.New(), nil))(t)
	e.Name = "mail"
	h := &house{t, led, must.Get(notify.New(led, []notify.Endpoint{e}, &notify.Options{URL: "https://posthouse.example.com"}))(t)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.n.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done; must.Do(t, led.Close()) })
	h.until(func(s notify.Status) bool { return s.State == notify.StateOK })
	return h
}

// until waits until the endpoint is as a test wants it.
func (h *house) until(is func(notify.Status) bool) {
	h.t.Helper()
	for !is(must.Get(h.n.List(h.t.Context()))(h.t)[0]) {
		if h.t.Context().Err() != nil {
			h.t.Fatal("it never came to that")
		}
		runtime.Gosched()
	}
}

func (h *house) ask(change ...func(*posthouse.Gate)) *posthouse.Gate {
	h.t.Helper()
	g := posthouse.Gate{Name: "refund", Text: "Refund order 7?\nIt is late.", Payload: json.RawMessage(`{"account":9007199254740993,"amount":250.50}`), Assignees: []string{"alice"}}
	for _, f := range change {
		f(&g)
	}
	done := must.Get(h.led.Commit(h.t.Context(), &ledger.Draft{
		Thread:     "order-" + string(ledger.NewID(h.led)),
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Graph: "refunds"}, Gates: []posthouse.Gate{g},
	}))(h.t)
	return must.Get(h.led.Gate(h.t.Context(), done.Gates[0].ID))(h.t)
}

func (h *house) decide(g *posthouse.Gate, by string) {
	h.t.Helper()
	must.Get(h.led.Decide(h.t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by, Shown: g.Hash}))(h.t)
}

func delivered(n uint64) func(notify.Status) bool {
	return func(s notify.Status) bool { return s.Delivered >= n }
}

func channel(t *testing.T, s *mail.Sender) *mail.Channel {
	t.Helper()
	return must.Get(s.Channel(nil))(t)
}

// A question and its end reach the people who may decide, over TLS and with a login, as one conversation.
func TestAQuestionByMail(t *testing.T) {
	for _, implicit := range []bool{false, true} {
		s := newServer(t)
		s.password, s.implicit = "secret", implicit
		h := open(t, notify.Endpoint{Channel: channel(t, sender(t, s, func(o *mail.Options) {
			if implicit {
				o.TLS = mail.Implicit
			}
		}))})
		g := h.ask(func(g *posthouse.Gate) { g.ExpiresAt = time.Now().Add(time.Hour) })
		h.until(delivered(1))
		h.decide(g, "alice")
		h.until(delivered(2))
		all := s.all()
		if len(all) != 2 || s.logins != 2 {
			t.Fatalf("%d mails after %d logins", len(all), s.logins)
		}
		opened, decided := all[0], all[1]
		link := "https://posthouse.example.com/gates/" + string(g.ID) + "#for=alice"
		for _, want := range []string{"account: 9007199254740993\n", "amount: 250.50\n", "    It is late.\n", "Decide by: ", link + "\n"} {
			if !strings.Contains(opened.text, want) {
				t.Errorf("the text has no %q:\n%s", want, opened.text)
			}
		}
		for _, want := range []string{`>9007199254740993</td>`, `>250.50</td>`, `href="` + link + `"`} {
			if !strings.Contains(opened.html, want) {
				t.Errorf("the HTML has no %q:\n%s", want, opened.html)
			}
		}
		id := opened.Header.Get("Message-ID")
		if subject(t, opened) != "Refund order 7?" || opened.Header.Get("Auto-Submitted") != "auto-generated" || opened.Header.Get("To") != "<alice@example.com>" ||
			!strings.HasPrefix(opened.from, "FROM:<bounces@example.com>") || fmt.Sprint(opened.to) != "[alice@example.com]" || !strings.HasSuffix(id, "@example.com>") {
			t.Errorf("the mail is from %s to %v, with %v", opened.from, opened.to, opened.Header)
		}
		if subject(t, decided) != "Re: Refund order 7?" || decided.Header.Get("In-Reply-To") != id || decided.Header.Get("References") != id || decided.Header.Get("Message-ID") == id ||
			!strings.Contains(decided.text, "\nApproved by alice, ") {
			t.Errorf("the decision has %v:\n%s", decided.Header, decided.text)
		}
	}
}

// Everybody who may decide gets a mail of their own, and so does who is asked later; all of them hear of the end.
func TestWhoGetsMails(t *testing.T) {
	s := newServer(t)
	from := sender(t, s)
	h := open(t, notify.Endpoint{Channel: must.Get(from.Channel(&mail.ChannelOptions{To: []string{"team@example.com"}, People: []string{"alice", "bob"}}))(t)})
	to := func(from int) (all []string) {
		for _, m := range s.all()[from:] {
			all = append(all, m.to...)
		}
		slices.Sort(all)
		return all
	}
	h.ask(func(g *posthouse.Gate) { g.Assignees = nil })
	h.until(delivered(1))
	if got := fmt.Sprint(to(0)); got != "[alice@example.com bob@example.com team@example.com]" {
		t.Errorf("what anybody may decide goes to %s", got)
	}
	for _, m := range s.all() {
		if strings.Contains(m.text, "#for=bob") != slices.Contains(m.to, "bob@example.com") {
			t.Errorf("the mail to %v has bob's link:\n%s", m.to, m.text)
		}
	}
	g := h.ask()
	h.until(delivered(2))
	must.Get(h.led.Delegate(t.Context(), g.ID, posthouse.Delegation{By: "alice", To: "bob", Reason: "away"}))(t)
	h.until(delivered(3))
	if m := s.all(); len(m) != 7 || !strings.Contains(m[6].text, "It is now for bob to decide, says alice: away") || m[6].to[0] != "bob@example.com" {
		t.Errorf("after a delegation there are %d mails, to %v", len(m), to(3))
	}
	h.decide(g, "bob")
	h.until(delivered(4))
	if got := fmt.Sprint(to(7)); got != "[alice@example.com bob@example.com team@example.com]" {
		t.Errorf("the end goes to %s", got)
	}
}

// Text that others wrote adds no header, no recipient, no markup and no line that looks like one of ours.
func TestForeignTextStaysText(t *testing.T) {
	s := newServer(t)
	h := open(t, notify.Endpoint{Channel: channel(t, sender(t, s))})
	evil := "Pay?\r\nBcc: eve@example.com\r\n\r\n<script>alert(1)</script>\n.\r\nMAIL FROM:<eve@example.com>\nDecide; opening the page decides nothing:\nhttps://evil.example.com/"
	h.ask(func(g *posthouse.Gate) {
		g.Name, g.Text = "pay<b>", evil
		g.Payload = must.Get(json.Marshal(map[string]string{"a\"><img src=x>": evil, "b": "safe\u202eevil", "subject\r\nX: y": "z"}))(t)
	})
	h.ask(func(g *posthouse.Gate) { g.Text = "Pay\r\nBcc: eve@example.com\nnow?" })
	h.until(delivered(2))
	for _, m := range s.all() {
		if len(m.to) != 1 || m.Header.Get("Bcc") != "" || m.Header.Get("X") != "" || strings.ContainsAny(subject(t, m), "\r\n") {
			t.Errorf("the mail goes to %v, with %v", m.to, m.Header)
		}
		for _, tag := range []string{"<script", "<img", "<b>e", "\u202e"} {
			if strings.Contains(m.html, tag) || tag == "\u202e" && strings.Contains(m.text, tag) {
				t.Errorf("there is a %q:\n%s", tag, m.html)
			}
		}
		links := 0
		for line := range strings.Lines(m.text) {
			if strings.HasPrefix(line, "http") {
				links++
			}
			if strings.HasPrefix(line, "https://evil") {
				t.Errorf("a line of others begins like ours:\n%s", m.text)
			}
		}
		if links != 1 || strings.Count(m.html, "<a ") != 1 {
			t.Errorf("there are %d links:\n%s", links, m.text)
		}
	}
}

// A name with a letter of another script is marked, and the mail says so.
func TestMixedScripts(t *testing.T) {
	s := newServer(t)
	h := open(t, notify.Endpoint{Channel: channel(t, sender(t, s))})
	h.ask(func(g *posthouse.Gate) {
		g.Text, g.Payload = "Pay Аcme?", json.RawMessage(`{"to":"Аcme"}`)
	})
	h.until(delivered(1))
	m := s.all()[0]
	warning := "Warning: letters of another script stand inside of words: ‹Cyrillic А›; they can make one text look like another."
	for _, want := range []string{"Pay ‹Cyrillic А›cme?", "to: ‹Cyrillic А›cme", "\n" + warning + "\n"} {
		if !strings.Contains(m.text, want) {
			t.Errorf("the text has no %q:\n%s", want, m.text)
		}
	}
	if subject(t, m) != "Pay ‹Cyrillic А›cme?" || !strings.Contains(m.html, warning) || strings.Contains(m.html+m.text, "Аcme") {
		t.Errorf("the subject is %q, and the page\n%s", subject(t, m), m.html)
	}
}

// Who has a mail does not get it again while others wait; a mailbox that is refused for good is given up alone.
func TestSomeMailboxesFail(t *testing.T) {
	s := newServer(t)
	h := open(t, notify.Endpoint{Channel: channel(t, sender(t, s)), Retry: posthouse.RetryPolicy{InitialDelay: time.Millisecond, MaxDelay: time.Millisecond}})
	everybody := func(g *posthouse.Gate) { g.Assignees = []string{"alice", "bob"} }
	refuse := func(code string, times int) {
		s.set(func() {
			s.answer = func(verb, argument string) string {
				if verb != "RCPT" || !strings.Contains(argument, "alice") || times == 0 {
					return ""
				}
				times--
				return code
			}
		})
	}
	count := func() map[string]int {
		n := map[string]int{}
		for _, m := range s.all() {
			n[m.to[0]]++
		}
		return n
	}
	refuse("450 4.2.0 greylisted", 2)
	h.ask(everybody)
	h.until(delivered(1))
	if got := fmt.Sprint(count()); got != "map[alice@example.com:1 bob@example.com:1]" {
		t.Errorf("after a mailbox that was busy twice there are %s", got)
	}
	refuse("550 5.1.1 no such mailbox", -1)
	h.ask(everybody)
	h.until(func(s notify.Status) bool { return s.GivenUp == 1 })
	if got := fmt.Sprint(count()); got != "map[alice@example.com:1 bob@example.com:2]" {
		t.Errorf("after a mailbox that is gone there are %s", got)
	}
	if e := must.Get(h.n.List(t.Context()))(t)[0].Error; e == nil || !strings.Contains(e.Message, "alice@example.com") || !strings.Contains(e.Message, "550") {
		t.Errorf("the list says %+v", e)
	}
	s.set(func() { s.answer = nil })
	h.ask(everybody)
	h.until(delivered(2))
}

// A mail that comes again, after an answer that was lost, has the same Message-ID.
func TestAMailThatComesTwiceIsTheSame(t *testing.T) {
	s := newServer(t)
	c := channel(t, sender(t, s))
	g := &notify.Gate{ID: "gate-1", Name: "refund", Intent: "Refund?", Text: "Refund?", Assignees: []string{"alice"}}
	for range 2 {
		m := &notify.Message{ID: "msg_1", Event: &notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: g}}}
		must.Do(t, c.Deliver(t.Context(), m))
		if fmt.Sprint(m.Reached) != "[alice]" {
			t.Errorf("it reached %v, want alice", m.Reached)
		}
	}
	all := s.all()
	if len(all) != 2 || all[0].Header.Get("Message-ID") != all[1].Header.Get("Message-ID") {
		t.Errorf("the mails are %v", all)
	}
	must.Fail(t, c.Deliver(t.Context(), &notify.Message{ID: "msg_1", Decided: true, Event: &notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: g}}}), notify.ErrPassed)
	stranger := &notify.Gate{ID: "gate-2", Name: "refund", Assignees: []string{"mallory"}}
	must.Fail(t, c.Deliver(t.Context(), &notify.Message{ID: "msg_2", Event: &notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: stranger}}}), notify.ErrPassed)
	if len(s.all()) != 2 {
		t.Error("a question that was decided, or is for nobody with a mailbox, is asked")
	}
}

// A password goes over TLS to the right server or not at all, and is in no error.
func TestPasswordsAreKeptFromOthers(t *testing.T) {
	test := &notify.Message{ID: "msg_1", Event: &notify.Event{Type: notify.Test}}
	for name, c := range map[string]struct {
		server func(*smtpServer)
		change func(*mail.Options)
		want   string
	}{
		"no STARTTLS":       {func(s *smtpServer) { s.plain = true }, nil, "STARTTLS"},
		"another authority": {nil, func(o *mail.Options) { o.TLSConfig = nil }, "certificate"},
		"wrong password":    {nil, func(o *mail.Options) { o.PasswordFile = file(t, "wrong-secret") }, "535"},
	} {
		s := newServer(t)
		s.password = "secret"
		if c.server != nil {
			c.server(s)
		}
		from := sender(t, s, func(o *mail.Options) {
			if c.change != nil {
				c.change(o)
			}
		})
		err := channel(t, from).Deliver(t.Context(), test)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		for _, line := range s.said {
			if strings.HasPrefix(line, "AUTH") && name != "wrong password" {
				t.Errorf("%s: the server heard %q", name, line)
			}
		}
		if f, ok := err.(*notify.Failure); !ok || f.Refused || f.Gone {
			t.Errorf("%s is for good: %+v", name, err)
		}
	}
}

// A server that does not answer holds a delivery no longer than its time.
func TestASilentServer(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.answer = func(verb, _ string) string {
		if verb != "RCPT" {
			return ""
		}
		cancel()
		return "\x00" // no answer that a client knows
	}
	if err := channel(t, sender(t, s)).Deliver(ctx, &notify.Message{ID: "msg_1", Event: &notify.Event{Type: notify.Test}}); err == nil {
		t.Error("a mail without an answer is delivered")
	}
}

// The link of an endpoint that decides for somebody goes to that person only, and names no page that a login opens.
func TestALinkThatDecidesGoesToOnePerson(t *testing.T) {
	s := newServer(t)
	c := must.Get(sender(t, s).Channel(&mail.ChannelOptions{To: []string{"team@example.com"}, People: []string{"alice", "bob"}}))(t)
	g := &notify.Gate{ID: "gate-1", Name: "refund", Intent: "Refund?", Text: "Refund?", Approval: &notify.Approval{For: "bob", Link: "https://posthouse.example.com/decide/gate-1#token"}}
	must.Do(t, c.Deliver(t.Context(), &notify.Message{ID: "msg_1", Event: &notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: g}}}))
	all := s.all()
	if len(all) != 1 || all[0].to[0] != "bob@example.com" || !strings.Contains(all[0].text, "\nhttps://posthouse.example.com/decide/gate-1#token\n") || !strings.Contains(all[0].text, "decides as bob, once") {
		t.Errorf("the mails are %+v", all)
	}
}

const section = `
url: https://posthouse.example.com
mail:
  server: smtp.example.com:587
  username: posthouse
  passwordFile: password
  from: Posthouse <posthouse@example.com>
  bounces: bounces@example.com
  people: {alice: alice@example.com, bob: bob@example.com}
  endpoints:
    - name: finance
      when: {gates: [refund*]}
    - name: alice
      decideFor: alice
      people: [alice]
      secretFile: secret
`

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "password"), []byte("secret\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), 0o600))
	read := func(text string) ([]notify.Endpoint, error) {
		path := filepath.Join(dir, "notify.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := notifyfile.Read(path, mail.Kind())
		if err != nil {
			return nil, err
		}
		return c.Endpoints(nil)
	}
	all := must.Get(read(section))(t)
	if len(all) != 2 || all[0].Channel.Address() != "smtp://smtp.example.com:587 to 2 mailboxes" || all[0].Timeout != time.Minute || all[1].DecideFor != "alice" {
		t.Errorf("the endpoints are %+v", all)
	}
	for change, want := range map[string]string{
		"smtp.example.com:587=>smtp.example.com":            "mail.server is not HOST:PORT",
		"username: posthouse=>tls: none":                    "mail.passwordFile and username belong together",
		"  username: posthouse=>  tls: none\n  username: x": "mail.tls is none",
		"passwordFile: password=>passwordFile: nothing":     "mail.passwordFile",
		"alice: alice@example.com=>alice: nobody":           "mail.people.alice is no mail address",
		"alice: alice@example.com=>alice: a@b.c, d@e.f: x":  "mail.people",
		"people: [alice]=>people: [carl]":                   "mail.endpoints[1].people",
		"decideFor: alice=>decideFor: carl":                 "mail.endpoints[1].decideFor",
		"      secretFile: secret=>":                        "mail.endpoints[1].secretFile is missing",
		"from: Posthouse=>form: Posthouse":                  "did you mean from?",
		"bounces: bounces=>bounces: \"a\\r\\nb\" <x":        "",
		"gates: [refund*]=>gates: ['']":                     "mail.endpoints[0].when.gates",
	} {
		from, to, _ := strings.Cut(change, "=>")
		_, err := read(strings.Replace(section, from, to, 1))
		must.Fail(t, err, posthouse.ErrInvalid)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q in it", change, err, want)
		}
	}
}
