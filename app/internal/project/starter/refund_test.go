package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// openGraph returns the graph over a store in memory.
func openGraph(t *testing.T) (*ledger.Ledger, *graph.App[Refund]) {
	t.Helper()
	store := memstore.New()
	led, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { led.Close(); store.Close() })
	refunds, err := refund(fakeModel{}, lookUp).Compile(led, nil)
	if err != nil {
		t.Fatal(err)
	}
	return led, refunds
}

// TestRefund asks for a refund and decides: what is approved is paid, and nothing else is.
func TestRefund(t *testing.T) {
	for verdict, want := range map[posthouse.Verdict]string{
		posthouse.Approve: "We refund 4999 cents for order 1234, approved by ann.",
		posthouse.Reject:  "We cannot refund order 1234.",
	} {
		led, refunds := openGraph(t)
		out, err := refunds.Run(t.Context(), "case-1", Refund{Message: "please refund order 1234"})
		if err != nil || len(out.Waiting) != 1 || out.Waiting[0].Text != "Refund 4999 cents for order 1234?" {
			t.Fatalf("it waits for %v, %v", out, err)
		}
		if _, err := led.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: verdict, By: "ann"}); err != nil {
			t.Fatal(err)
		}
		out, err = refunds.Resume(t.Context(), "case-1")
		if err != nil || out.State.Answer != want {
			t.Errorf("after %s the answer is %q, %v, want %q", verdict, out.State.Answer, err, want)
		}
	}
}

// TestNobodyIsAskedAboutAnOrderThatIsNotThere: the run ends with an answer.
func TestNobodyIsAskedAboutAnOrderThatIsNotThere(t *testing.T) {
	_, refunds := openGraph(t)
	out, err := refunds.Run(t.Context(), "case-2", Refund{Message: "please refund my lamp"})
	if err != nil || len(out.Waiting) > 0 || !strings.Contains(out.State.Answer, "no order none") {
		t.Errorf("it comes to %+v, %v", out, err)
	}
}

// TestChatModel calls a server that speaks the API, well and badly.
func TestChatModel(t *testing.T) {
	answer, code := `{"choices":[{"message":{"role":"assistant","content":" 1234\n"}}]}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" {
			code = http.StatusUnauthorized
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	m, err := modelOf(func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL + "/", "OPENAI_API_KEY": "secret"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Reply(context.Background(), "which order?", "order 1234"); got != "1234" || err != nil {
		t.Errorf("it says %q, %v", got, err)
	}
	answer = `{"choices":[]}`
	if got, err := m.Reply(context.Background(), "", ""); err == nil {
		t.Errorf("a model that says nothing is taken for %q", got)
	}
	answer, code = "too many", http.StatusTooManyRequests
	if _, err := m.Reply(context.Background(), "", ""); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("a model that refuses says %v", err)
	}
	if _, err := modelOf(func(string) string { return "" }); err == nil {
		t.Error("no key is taken for one")
	}
}
