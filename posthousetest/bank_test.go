package posthousetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/posthousetest"
)

// post asks a bank for a payment, as a program does: it returns its number.
func post(ctx context.Context, b *posthousetest.Bank, key, body string) (payment string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := b.Client.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", resp.StatusCode, err
	}
	var out struct{ Payment string }
	err = json.Unmarshal(data, &out)
	return out.Payment, resp.StatusCode, err
}

// warm has the bank's client keep a connection.
func warm(ctx context.Context, b *posthousetest.Bank) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL, nil)
	if err != nil {
		return err
	}
	resp, err := b.Client.Do(r)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

func TestBankAnswers(t *testing.T) {
	for answer, want := range map[posthousetest.BankAnswer]struct {
		status int // 0: an error
		paid   int
		err    error // that it is, if it is one in particular
	}{
		posthousetest.BankPays:           {200, 1, nil},
		posthousetest.BankRefuses:        {402, 0, nil},
		posthousetest.BankResetsBefore:   {0, 0, syscall.ECONNRESET},
		posthousetest.BankResetsAfter:    {0, 1, syscall.ECONNRESET},
		posthousetest.BankHangsBefore:    {0, 0, context.DeadlineExceeded},
		posthousetest.BankHangsAfter:     {0, 1, context.DeadlineExceeded},
		posthousetest.BankFailsAfter:     {500, 1, nil},
		posthousetest.BankRedirectsAfter: {0, 1, syscall.ECONNREFUSED},
		posthousetest.BankLeavesAfter:    {0, 1, syscall.ECONNRESET},
		posthousetest.BankDenies:         {402, 1, nil},
		posthousetest.BankPretends:       {200, 0, nil},
	} {
		t.Run(string(answer), func(t *testing.T) {
			b := posthousetest.NewBank(t)
			b.Next(answer)
			ctx, cancel := context.WithCancel(t.Context())
			if strings.HasPrefix(string(answer), "hangs") {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			}
			defer cancel()
			payment, status, err := post(ctx, b, "", `{"amount":10}`)
			if status != want.status || (err != nil) != (status == 0) || want.err != nil && !errors.Is(err, want.err) {
				t.Errorf("it answers %d, %v", status, err)
			}
			b.Times(want.paid)
			calls := b.Calls()
			if len(calls) != 1 || calls[0].Answer != answer || calls[0].Body != `{"amount":10}` || (calls[0].Paid != "") != (want.paid > 0) || calls[0].Warm {
				t.Errorf("it has %+v", calls)
			}
			if status == 200 && payment == "" {
				t.Error("it names no payment")
			}
			b.Return()
			if payment, status, err := post(t.Context(), b, "", "next"); err != nil || status != 200 || payment != fmt.Sprint("payment-", want.paid+1) {
				t.Errorf("the next is answered with %s, %d, %v", payment, status, err)
			}
		})
	}
	b := posthousetest.NewBank(t)
	b.Next(posthousetest.BankGarbles)
	var syntax *json.SyntaxError
	if _, status, err := post(t.Context(), b, "", "{}"); status != 200 || !errors.As(err, &syntax) {
		t.Errorf("%d, %v", status, err)
	}
	b.Once()
}

// net/http repeats a POST by itself if it has a key and its connection was used before.
func TestBankIsAskedAgainByHTTP(t *testing.T) {
	for _, c := range []struct {
		what    string
		key     string
		warm    bool
		known   bool
		answers []posthousetest.BankAnswer
		calls   int
		paid    int
		err     error
	}{
		{"the connection is new", "k", false, false, []posthousetest.BankAnswer{posthousetest.BankResetsAfter}, 1, 1, syscall.ECONNRESET},
		{"no key", "", true, false, []posthousetest.BankAnswer{posthousetest.BankResetsAfter}, 1, 1, syscall.ECONNRESET},
		{"paid twice", "k", true, false, []posthousetest.BankAnswer{posthousetest.BankResetsAfter}, 2, 2, nil},
		{"the bank knows the key", "k", true, true, []posthousetest.BankAnswer{posthousetest.BankResetsAfter}, 2, 1, nil},
		{"refused the second time", "k", true, false, []posthousetest.BankAnswer{posthousetest.BankResetsAfter, posthousetest.BankRefuses}, 2, 1, nil},
		{"away the second time", "k", true, false, []posthousetest.BankAnswer{posthousetest.BankLeavesAfter}, 1, 1, syscall.ECONNREFUSED},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := posthousetest.NewBank(t)
			if c.known {
				b.KnowKeys()
			}
			if c.warm {
				if err := warm(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			b.Next(c.answers...)
			_, _, err := post(t.Context(), b, c.key, "{}")
			if (err != nil) != (c.err != nil) || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("the client has %v", err)
			}
			b.Times(c.paid)
			if calls := b.Calls(); len(calls) != c.calls || calls[0].Warm != c.warm {
				t.Errorf("the bank has %+v", calls)
			}
		})
	}
}

func TestBankKnowsKeys(t *testing.T) {
	b := posthousetest.NewBank(t)
	b.KnowKeys()
	for _, c := range []struct {
		key, body string
		want      string
		status    int
	}{
		{"k", "10", "payment-1", 200}, {"k", "10", "payment-1", 200}, {"k", "11", "", 422}, {"l", "10", "payment-2", 200}, {"", "10", "payment-3", 200}, {"", "10", "payment-4", 200},
	} {
		if payment, status, err := post(t.Context(), b, c.key, c.body); payment != c.want || status != c.status || err != nil {
			t.Errorf("key %q with %s: %s, %d, %v; want %s, %d", c.key, c.body, payment, status, err, c.want, c.status)
		}
	}
	b.Times(4)
}

// A test that counts wrong says what was paid.
func TestBankFailsTests(t *testing.T) {
	b := posthousetest.NewBank(t)
	for range 2 {
		if _, _, err := post(t.Context(), b, "k", "10"); err != nil {
			t.Fatal(err)
		}
	}
	if paid := b.Paid(); len(paid) != 2 || paid[1].Paid != "payment-2" || paid[1].Key != "k" {
		t.Errorf("it paid %+v", paid)
	}
	says(t, tells(t, func(t posthousetest.TB) { posthousetest.NewBank(t).Times(1) }), "the bank made 0 payments, want 1")
	says(t, tells(t, func(t posthousetest.TB) { posthousetest.NewBank(t).Once() }), "the bank made 0 payments, want 1")
	says(t, tells(t, func(t posthousetest.TB) { posthousetest.NewBank(t).Next("pays promptly") }), `a bank has no answer "pays promptly"`)
	says(t, tells(t, func(t posthousetest.TB) {
		b := posthousetest.NewBank(t)
		b.Next(posthousetest.BankFailsAfter)
		for _, key := range []string{"k", "l"} {
			if _, _, err := post(t.Context(), b, key, "10"); err != nil {
				t.Fatalf("%v", err)
			}
		}
		b.Once()
	}), "the bank made 2 payments, want 1", "it fails after: 10 with key k, payment-1", "it pays: 10 with key l, payment-2")
}

// A bank says what became of effects with an unknown outcome.
func TestBankIsAWitness(t *testing.T) {
	posthousetest.EveryKill(t, func(t *testing.T, k *posthousetest.Kill) {
		b := posthousetest.NewBank(t)
		env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
			app, err := flow.New("pay", func(ctx context.Context, amount int) (string, error) {
				grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, amount)
				if err != nil {
					return "", err
				}
				return gate.Act(ctx, "pay", grant, func(ctx context.Context, amount int) (string, error) {
					payment, _, err := post(ctx, b, "", fmt.Sprint(amount))
					return payment, err
				})
			}).Open(led, nil)
			return []posthouse.Program{app}, err
		}, &posthousetest.Options{Kill: k, Tools: []posthousetest.Witness{b}})
		env.Answer("pay", posthousetest.Approve("ann"))
		env.Start("pay", "t", 10).Done().Acted("pay")
		b.Once()
	})
}
