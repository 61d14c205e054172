package posthousetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/posthouse/posthouse/internal/commit"
)

// A BankAnswer is how a [Bank] answers a request.
type BankAnswer string

// The answers of a bank. "After" is after the payment, and "before" is in its place.
const (
	BankPays           BankAnswer = "pays"            // 200
	BankRefuses        BankAnswer = "refuses"         // 402; nothing is paid
	BankResetsBefore   BankAnswer = "resets before"   // the connection is reset
	BankResetsAfter    BankAnswer = "resets after"    // the same, and it is paid
	BankHangsBefore    BankAnswer = "hangs before"    // no answer, until the client hangs up
	BankHangsAfter     BankAnswer = "hangs after"     // the same, and it is paid
	BankFailsAfter     BankAnswer = "fails after"     // 500, and it is paid
	BankRedirectsAfter BankAnswer = "redirects after" // 307 to a host that refuses connections, and it is paid
	BankGarbles        BankAnswer = "garbles"         // 200 with half a line of JSON, and it is paid
	BankLeavesAfter    BankAnswer = "leaves after"    // no answer, and it is paid; connections are refused until [Bank.Return]
	BankDenies         BankAnswer = "denies"          // a lie: 402, and it is paid
	BankPretends       BankAnswer = "pretends"        // a lie: 200, and nothing is paid
)

// pays reports whether a request with the answer is paid.
func (a BankAnswer) pays() bool {
	return !slices.Contains([]BankAnswer{BankRefuses, BankResetsBefore, BankHangsBefore, BankPretends}, a)
}

// known reports whether there is such an answer.
func (a BankAnswer) known() bool {
	return slices.Contains([]BankAnswer{
		BankPays, BankRefuses, BankResetsBefore, BankResetsAfter, BankHangsBefore, BankHangsAfter, BankFailsAfter,
		BankRedirectsAfter, BankGarbles, BankLeavesAfter, BankDenies, BankPretends,
	}, a)
}

// deadHost refuses connections.
const deadHost = "http://127.0.0.1:1/payments"

// maxBody limits the body of a payment, in bytes.
const maxBody = 1 << 20

// A Bank is a service on a real connection that makes payments, for programs that call one by HTTP. A
// [Tool] returns errors; a Bank breaks the connection, so that a test sees what the program's HTTP client makes
// of it. Every POST to any path is a payment, whatever its body is, and answered with 200 and
// {"payment":"payment-1"}, or as [Bank.Next] says. Other requests are answered with 200 and pay nothing.
//
// It counts what it paid, and is not told so by anybody: a POST that net/http has repeated by itself
// is paid twice. It does so on a connection that was used before, if the request has an
// Idempotency-Key header. See [Bank.KnowKeys].
//
// It listens on a loopback address until the test ends, and is safe for concurrent use.
type Bank struct {
	URL    string       // of payments
	Client *http.Client // for those; closed when the test ends. A client of your own does as well

	t       TB
	address string
	over    chan struct{} // closed when the test ends
	serving sync.WaitGroup

	mu      sync.Mutex
	server  *http.Server   // nil: it left
	left    []*http.Server // that do not listen any more
	next    []BankAnswer
	calls   []BankCall
	paid    int
	keys    bool
	earlier map[string]BankCall // the payments of each key
	used    map[net.Conn]bool   // connections with requests
}

// A BankCall is a POST that reached a [Bank].
type BankCall struct {
	Answer BankAnswer
	Paid   string // the payment's number, as in "payment-1"; "" if nothing was paid
	Key    string // the header Idempotency-Key
	Body   string
	Warm   bool // the connection had a request before
}

// NewBank returns a bank that pays.
func NewBank(t TB) *Bank {
	t.Helper()
	b := &Bank{t: t, over: make(chan struct{}), earlier: map[string]BankCall{}, used: map[net.Conn]bool{}}
	if err := b.listen("127.0.0.1:0"); err != nil {
		t.Fatalf("posthousetest: the bank does not listen: %v", err)
	}
	b.URL = "http://" + b.address + "/payments"
	transport := &http.Transport{}
	b.Client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		close(b.over)
		transport.CloseIdleConnections()
		b.mu.Lock()
		servers := b.left
		if b.server != nil {
			servers = append(servers, b.server)
		}
		b.mu.Unlock()
		for _, server := range servers {
			_ = server.Close() // connections are cut
		}
		b.serving.Wait()
	})
	return b
}

type keyConn struct{}

// listen has the bank serve an address.
func (b *Bank) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:     http.HandlerFunc(b.serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, keyConn{}, c) },
		ConnState:   b.forget,
	}
	b.mu.Lock()
	b.address, b.server = l.Addr().String(), server
	b.mu.Unlock()
	b.serving.Go(func() { _ = server.Serve(l) }) // until it is closed
	return nil
}

// forget drops a connection that is over.
func (b *Bank) forget(c net.Conn, s http.ConnState) {
	if s == http.StateClosed {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.used, c)
	}
}

// Next has the next payments answered so, one with each. Those that follow are paid.
func (b *Bank) Next(answers ...BankAnswer) {
	b.t.Helper()
	for _, a := range answers {
		if !a.known() {
			b.t.Fatalf("posthousetest: a bank has no answer %q", a)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = append(b.next, answers...)
}

// KnowKeys has the bank know idempotency keys: a POST with a key that it has paid is paid no second
// time, and has the same payment in its answer. Another body with that key is answered with 422.
func (b *Bank) KnowKeys() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys = true
}

// Return has a bank that left listen again, at the same address.
func (b *Bank) Return() {
	b.t.Helper()
	b.mu.Lock()
	away := b.server == nil
	b.mu.Unlock()
	if !away {
		return
	}
	if err := b.listen(b.address); err != nil {
		b.t.Fatalf("posthousetest: the bank does not return: %v", err)
	}
}

// Calls returns all payments that were asked for, oldest first.
func (b *Bank) Calls() []BankCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Paid returns the calls that were paid, oldest first.
func (b *Bank) Paid() []BankCall {
	return slices.DeleteFunc(b.Calls(), func(c BankCall) bool { return c.Paid == "" })
}

// Times fails the test unless there were n payments.
func (b *Bank) Times(n int) {
	b.t.Helper()
	if paid := b.Paid(); len(paid) != n {
		b.t.Errorf("posthousetest: the bank made %d payments, want %d\n%s", len(paid), n, b.list())
	}
}

// Once ends the test unless there was one payment, which it returns.
func (b *Bank) Once() BankCall {
	b.t.Helper()
	paid := b.Paid()
	if len(paid) != 1 {
		b.t.Fatalf("posthousetest: the bank made %d payments, want 1\n%s", len(paid), b.list())
	}
	return paid[0]
}

// list shows the calls, one a line.
func (b *Bank) list() string {
	var out bytes.Buffer
	for _, c := range b.Calls() {
		fmt.Fprintf(&out, "  it %s: %s", c.Answer, c.Body)
		if c.Key != "" {
			out.WriteString(" with key " + c.Key)
		}
		if c.Paid != "" {
			out.WriteString(", " + c.Paid)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// outcome implements [Witness]: the payment with that body.
func (b *Bank) outcome(content json.RawMessage) (result json.RawMessage, happened bool) {
	for _, c := range slices.Backward(b.Paid()) {
		if commit.SameJSON([]byte(c.Body), content) {
			return encode(c.Paid), true
		}
	}
	return nil, false
}

// serve answers a request.
func (b *Bank) serve(w http.ResponseWriter, r *http.Request) {
	conn, _ := r.Context().Value(keyConn{}).(net.Conn)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Method != http.MethodPost {
		b.mu.Lock()
		b.used[conn] = true
		b.mu.Unlock()
		return
	}
	c, known := b.take(conn, r.Header.Get("Idempotency-Key"), string(body))
	if known && c.Body != string(body) {
		answer(w, http.StatusUnprocessableEntity, map[string]string{"error": "another payment has this key"})
		return
	}
	b.reply(w, r, c)
}

// take records a call. known says that its key was paid before; then it returns the call of that
// payment, to be answered as this call's script says.
func (b *Bank) take(conn net.Conn, key, body string) (c BankCall, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c = BankCall{Answer: BankPays, Key: key, Body: body, Warm: b.used[conn]}
	b.used[conn] = true
	if len(b.next) > 0 {
		c.Answer, b.next = b.next[0], b.next[1:]
	}
	if before, paid := b.earlier[key]; paid && b.keys {
		b.calls = append(b.calls, c)
		before.Answer = c.Answer
		return before, true
	}
	if c.Answer.pays() {
		b.paid++
		c.Paid = fmt.Sprint("payment-", b.paid)
		if key != "" {
			b.earlier[key] = c
		}
	}
	b.calls = append(b.calls, c)
	return c, false
}

// reply answers a call that is on record.
func (b *Bank) reply(w http.ResponseWriter, r *http.Request, c BankCall) {
	switch c.Answer {
	case BankRefuses, BankDenies:
		answer(w, http.StatusPaymentRequired, map[string]string{"error": "the account does not cover it"})
	case BankResetsBefore, BankResetsAfter:
		reset(w)
	case BankHangsBefore, BankHangsAfter:
		select {
		case <-r.Context().Done():
		case <-b.over:
		}
		reset(w)
	case BankFailsAfter:
		answer(w, http.StatusInternalServerError, map[string]string{"error": "out of order"})
	case BankRedirectsAfter:
		w.Header().Set("Location", deadHost)
		answer(w, http.StatusTemporaryRedirect, map[string]string{"error": "it has moved"})
	case BankGarbles:
		_, _ = io.WriteString(w, `{"payment":"pay`) // an error is the client's
	case BankLeavesAfter:
		b.leave()
		reset(w)
	case BankPretends:
		answer(w, http.StatusOK, map[string]string{"payment": "payment-0"})
	default:
		answer(w, http.StatusOK, map[string]string{"payment": c.Paid})
	}
}

// leave stops listening. Connections stay, so that the one that asks is cut after it.
func (b *Bank) leave() {
	b.mu.Lock()
	server := b.server
	b.server = nil
	if server != nil {
		b.left = append(b.left, server)
	}
	b.mu.Unlock()
	if server == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it stops listening, and waits for nothing
	_ = server.Shutdown(ctx)
}

// answer writes a reply. An error of it is the client's.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v))
}

// reset cuts a connection by TCP's reset.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		panic(http.ErrAbortHandler) // the connection is closed
	}
	if err != nil {
		return // it is cut
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it is closed
	}
	_ = c.Close()
}
