package gate_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
	"github.com/posthouse/posthouse/store/memstore"
)

// within runs a function as a tool that the policy allows: in the context of an attempt.
func within(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	s := gate.NewSession(&gate.SessionOptions{By: "ann", Policy: gate.AllowAll})
	tool := func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, fn(ctx) }
	_, err := gate.Require(tool, gate.Approval{Tool: "pay", Message: "ok?"})(s.With(t.Context()), struct{}{})
	return err
}

// send posts to a URL with an idempotency key and returns what the client says of it.
func send(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", "k")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	return errors.New(resp.Status)
}

const refuses = "http://127.0.0.1:1/"

// Only an attempt that sent nothing is known not to have acted.
func TestUnsent(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	trusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer trusted.Close()
	client := func() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }
	for _, c := range []struct {
		what   string
		unsent bool
		fn     func(ctx context.Context, b *posthousetest.Bank) error
	}{
		{"a dial that is refused", true, func(ctx context.Context, _ *posthousetest.Bank) error {
			return gate.Unsent(ctx, send(ctx, client(), refuses))
		}},
		{"wrapped by the program", true, func(ctx context.Context, _ *posthousetest.Bank) error {
			return errors.Join(gate.Unsent(ctx, &posthouse.Error{Message: "the bank", Err: send(ctx, client(), refuses)}))
		}},
		{"a name that is not known", true, func(ctx context.Context, _ *posthousetest.Bank) error {
			failing := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") }}
			dialer := &net.Dialer{Resolver: failing}
			return gate.Unsent(ctx, send(ctx, &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}, "http://bank.invalid/"))
		}},
		{"a certificate that is not trusted", true, func(ctx context.Context, _ *posthousetest.Bank) error {
			return gate.Unsent(ctx, send(ctx, client(), untrusted.URL))
		}},
		{"no error", false, func(ctx context.Context, _ *posthousetest.Bank) error {
			if err := gate.Unsent(ctx, nil); err != nil {
				t.Error(err)
			}
			return errors.New("another")
		}},
		{"a certificate that the other side refuses", false, func(ctx context.Context, _ *posthousetest.Bank) error {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
			s.StartTLS()
			defer s.Close()
			return gate.Unsent(ctx, send(ctx, s.Client(), s.URL))
		}},
		{"an answer", false, func(ctx context.Context, b *posthousetest.Bank) error {
			return gate.Unsent(ctx, send(ctx, b.Client, b.URL))
		}},
		{"a reset", false, func(ctx context.Context, b *posthousetest.Bank) error {
			b.Next(posthousetest.BankResetsAfter)
			return gate.Unsent(ctx, send(ctx, client(), b.URL))
		}},
		{"refused after net/http has sent it", false, func(ctx context.Context, b *posthousetest.Bank) error {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, b.URL, nil) // keeps a connection
			if err != nil {
				t.Fatal(err)
			}
			resp, err := b.Client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			b.Next(posthousetest.BankLeavesAfter)
			return gate.Unsent(ctx, send(ctx, b.Client, b.URL))
		}},
		{"refused after a redirect", false, func(ctx context.Context, b *posthousetest.Bank) error {
			b.Next(posthousetest.BankRedirectsAfter)
			return gate.Unsent(ctx, send(ctx, b.Client, b.URL))
		}},
		{"refused after another request", false, func(ctx context.Context, b *posthousetest.Bank) error {
			_ = send(ctx, b.Client, b.URL)
			return gate.Unsent(ctx, send(ctx, client(), refuses))
		}},
		{"refused before another request", false, func(ctx context.Context, b *posthousetest.Bank) error {
			err := gate.Unsent(ctx, send(ctx, client(), refuses))
			_ = send(ctx, b.Client, b.URL)
			return err
		}},
		{"refused after a connection of its own", false, func(ctx context.Context, b *posthousetest.Bank) error {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(trusted.URL, "https://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			return gate.Unsent(ctx, send(ctx, client(), refuses))
		}},
		{"a request with another context", false, func(ctx context.Context, _ *posthousetest.Bank) error {
			return gate.Unsent(ctx, send(context.Background(), client(), refuses))
		}},
		{"another context", false, func(ctx context.Context, _ *posthousetest.Bank) error {
			return gate.Unsent(context.Background(), send(ctx, client(), refuses))
		}},
		{"an error of an attempt before", false, func(ctx context.Context, _ *posthousetest.Bank) error {
			err := within(t, func(ctx context.Context) error { return send(ctx, client(), refuses) })
			return gate.Unsent(ctx, err)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := posthousetest.NewBank(t)
			err := within(t, func(ctx context.Context) error { return c.fn(ctx, b) })
			if err == nil || effect.IsNotDone(err) != c.unsent {
				t.Errorf("%v: not done is %t", err, !c.unsent)
			}
		})
	}
}

// What was never sent runs again; what may have been sent is asked about.
func TestUnsentOfAnEffect(t *testing.T) {
	b := posthousetest.NewBank(t)
	url := refuses
	l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	app, err := flow.New("pay", func(ctx context.Context, in int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, in)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(ctx context.Context, _ int) (string, error) {
			return "", gate.Unsent(ctx, send(ctx, b.Client, url))
		})
	}).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	out, err := app.Run(ctx, "order-1", 10)
	if err != nil || len(out.Waiting) != 1 {
		t.Fatal(out, err)
	}
	if _, err := l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	out, err = app.Resume(ctx, "order-1")
	if err == nil {
		t.Fatal("it was refused, and the run is", out)
	}
	url = b.URL
	b.Next(posthousetest.BankResetsAfter)
	out, err = app.Resume(ctx, "order-1")
	if err != nil || len(out.Waiting) != 1 || !out.Waiting[0].AsksOutcome() {
		t.Fatal("after the reset, nobody is asked:", out, err)
	}
	b.Once()
}
