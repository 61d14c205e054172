package natslink_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/certtest"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// only lets in who shows one of some tokens, until they are forbidden.
type only struct {
	mu     sync.Mutex
	tokens map[string]bool
}

func (o *only) allow(token string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tokens[token], nil
}

func (o *only) forbid(token string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tokens, token)
}

// An echo answers every session with its own name.
type echo struct{ task.Engine }

func (echo) Heartbeat(_ context.Context, session string, _ []task.ClaimID) (*task.Pulse, error) {
	return &task.Pulse{Lost: []task.ClaimID{{Gate: posthouse.ID(session), Fence: 1}}}, nil
}

func open(t *testing.T, o link.Options) link.Link {
	t.Helper()
	l, err := natslink.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// listen serves an echo, and returns where.
func listen(t *testing.T, o link.Options) string {
	t.Helper()
	l := open(t, o)
	stop, err := l.Serve(echo{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return l.Address()
}

func heartbeat(l link.Link) error {
	e, err := l.Engine()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := e.Heartbeat(ctx, "worker-x", nil)
	if err == nil && (len(p.Lost) != 1 || p.Lost[0].Gate != "worker-x") {
		return errors.New("another answer")
	}
	return err
}

func wantCode(t *testing.T, what string, err error, code posthouse.Code) {
	t.Helper()
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestListen: a worker with a token gets answers, over TLS too, and others are refused.
func TestListen(t *testing.T) {
	certs := certtest.New(t, "127.0.0.1")
	for what, o := range map[string]link.Options{"clear": {}, "tls": {Cert: certs.Cert, Key: certs.Key}} {
		good := &only{tokens: map[string]bool{"secret-1": true}}
		o.Listen, o.Allow = "127.0.0.1:0", good.allow
		at := listen(t, o)
		if tls := strings.HasPrefix(at, "tls://"); tls != (what == "tls") {
			t.Errorf("%s: it is at %s", what, at)
		}
		to := link.Options{URL: at, Token: "secret-1"}
		if what == "tls" {
			_, err := natslink.Open(t.Context(), &to)
			wantCode(t, "a certificate that nobody knows", err, posthouse.CodeUnavailable)
			to.CA = certs.CA
		}
		if err := heartbeat(open(t, to)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, token := range []string{"", "secret-2"} {
			to.Token = token
			_, err := natslink.Open(t.Context(), &to)
			wantCode(t, what+" with token "+token, err, posthouse.CodeForbidden)
		}
	}
}

// TestWorkersMayDoNothingElse: a worker cannot answer for an engine, nor listen to what others
// are told or ask, nor reach anything but engines.
func TestWorkersMayDoNothingElse(t *testing.T) {
	good := &only{tokens: map[string]bool{"one": true, "two": true}}
	at := listen(t, link.Options{Listen: "127.0.0.1:0", Allow: good.allow})
	denied := make(chan error, 100)
	c, err := nats.Connect(at, nats.Token("one"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for what, do := range map[string]func() error{
		"all":             func() error { _, err := c.SubscribeSync(">"); return err },
		"another's call":  func() error { return c.Publish("posthouse.task.x.any.claim", []byte("{}")) },
		"a call of all":   func() error { return c.Publish("posthouse.task.any.claim", []byte("{}")) },
		"chunks":          func() error { return c.Publish("posthouse.chunk", []byte("{}")) },
		"all answers":     func() error { _, err := c.SubscribeSync("posthouse.answer.>"); return err },
		"requests":        func() error { _, err := c.SubscribeSync("posthouse.task.any.claim"); return err },
		"queue":           func() error { _, err := c.QueueSubscribeSync("posthouse.task.any.*", "engines"); return err },
		"usual inboxes":   func() error { _, err := c.SubscribeSync("_INBOX.>"); return err },
		"other inboxes":   func() error { _, err := c.SubscribeSync("_INBOX_00.>"); return err },
		"server's events": func() error { _, err := c.SubscribeSync("$SYS.>"); return err },
		"answer":          func() error { return c.Publish("_INBOX_00.x", []byte("{}")) },
		"jetstream":       func() error { return c.Publish("$JS.API.INFO", nil) },
		"other":           func() error { return c.Publish("posthouse.log.x", nil) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: a worker may", what)
		}
	}
	if err := heartbeat(open(t, link.Options{URL: at, Token: "two"})); err != nil {
		t.Error(err)
	}
}

// TestConnectionEndsWithItsToken: the connection is closed when its token ends.
func TestConnectionEndsWithItsToken(t *testing.T) {
	good := &only{tokens: map[string]bool{"one": true, "two": true}}
	at := listen(t, link.Options{Listen: "127.0.0.1:0", Allow: good.allow})
	one, two := open(t, link.Options{URL: at, Token: "one"}), open(t, link.Options{URL: at, Token: "two"})
	for _, l := range []link.Link{one, two} {
		if err := heartbeat(l); err != nil {
			t.Fatal(err)
		}
	}
	good.forbid("one")
	for deadline := time.After(time.Minute); heartbeat(one) == nil; {
		select {
		case <-deadline:
			t.Fatal("a worker goes on whose token is good no more")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := heartbeat(two); err != nil {
		t.Error(err)
	}
}

// TestOptionsAreChecked: nothing listens without authentication, nor beyond this machine
// without TLS, and no token leaves it without.
func TestOptionsAreChecked(t *testing.T) {
	anyone := func(string) (bool, error) { return true, nil }
	none := filepath.Join(t.TempDir(), "none")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]link.Options{
		"URL":         {},
		"URL ":        {URL: "http://localhost"},
		"URL  ":       {URL: "nats://"},
		"URL   ":      {URL: "nats://h?what=1"},
		"URL    ":     {URL: "nats://u:pw@h:4222/x"},
		"URL      ":   {URL: "nats://127.0.0.1:4222,nats://u:pw@elsewhere.example:4222"},
		"URL       ":  {URL: "nats://u:pw@192.0.2.1", Token: "secret"},
		"URL        ": {URL: "nats://pw@elsewhere.example", Credentials: text},
		"URL     ":    {URL: "nats://elsewhere.example:4222", Token: "secret"},
		"Listen":      {URL: "nats://h", Listen: "127.0.0.1:0"},
		"Listen ":     {Listen: "127.0.0.1", Allow: anyone},
		"Listen  ":    {Listen: "127.0.0.1:x", Allow: anyone},
		"Allow":       {Listen: "127.0.0.1:0"},
		"Cert":        {Listen: "127.0.0.1:0", Allow: anyone, Cert: "x"},
		"Cert ":       {Listen: "127.0.0.1:0", Allow: anyone, Cert: none, Key: none},
		"Credentials": {URL: "nats://h", Credentials: none},
		"CA":          {URL: "tls://h", CA: none},
		"CA ":         {URL: "tls://h", CA: text},
		"Prefix":      {URL: "nats://127.0.0.1:1?prefix=a.b"},
	} {
		_, err := natslink.Open(t.Context(), &o)
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != strings.TrimSpace(what) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:4222"} {
		_, err := natslink.Open(t.Context(), &link.Options{Listen: at, Allow: anyone})
		wantCode(t, at, err, posthouse.CodeForbidden)
	}
	at := listen(t, link.Options{Listen: "127.0.0.1:0", Allow: anyone})
	_, err := natslink.Open(t.Context(), &link.Options{Listen: strings.TrimPrefix(at, "nats://"), Allow: anyone})
	wantCode(t, "an address that is taken", err, posthouse.CodeLocked)
	_, err = natslink.Open(t.Context(), &link.Options{URL: "nats://127.0.0.1:1"})
	wantCode(t, "nobody there", err, posthouse.CodeUnavailable)
}
