package notify

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Options configure a Notifier. Nil is the zero value.
type Options struct {
	// URL is where people reach the pages, as in https://posthouse.example.com: links in messages
	// lead there. Without it messages have no links.
	URL    string
	Logger *slog.Logger // failures of deliveries and of the store; default: discarded

	// Approve makes the [Approval] of a gate, without its addresses, for endpoints that decide for
	// somebody: Approval of a server. The same request has the same token.
	Approve func(context.Context, *ApprovalRequest) (*Approval, error)

	// Decide puts an answer on record that somebody gave in a channel: Decide of a server. Without it
	// channels take no answers.
	Decide func(context.Context, posthouse.ID, posthouse.Decision) (*posthouse.Gate, error)
}

// A Notifier tells endpoints what happens. Make one with [New]; a Ledger has one at most. It is safe
// for concurrent use.
type Notifier struct {
	ledger    *ledger.Ledger
	endpoints []Endpoint
	url       string
	log       *slog.Logger
	counts    *counts
	kicks     map[string]chan struct{}
	held      atomic.Int64 // endpoints that this process has
	approve   func(context.Context, *ApprovalRequest) (*Approval, error)
	decide    func(context.Context, posthouse.ID, posthouse.Decision) (*posthouse.Gate, error)
	answerers map[string]Answerer // by the kind of their channels
}

// New returns a notifier of some endpoints. [posthouse.ErrInvalid] names the endpoint and what is at
// fault with it.
func New(led *ledger.Ledger, endpoints []Endpoint, o *Options) (*Notifier, error) {
	if o == nil {
		o = &Options{}
	}
	if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	if len(endpoints) > maxEndpoints {
		return nil, posthouse.Invalid("endpoints", "are %d; the limit is %d", len(endpoints), maxEndpoints)
	}
	n := &Notifier{ledger: led, endpoints: slices.Clone(endpoints), url: o.URL, log: o.Logger, counts: newCounts(), kicks: map[string]chan struct{}{}, approve: o.Approve, decide: o.Decide}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	for i := range n.endpoints {
		e := &n.endpoints[i]
		if err := e.Validate(); err != nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "endpoints[" + strconv.Itoa(i) + "]", Message: "cannot be used", Err: err}
		}
		if n.kicks[e.Name] != nil {
			return nil, posthouse.Invalid("endpoint", "%s is there twice", quote(e.Name))
		}
		if e.DecideFor != "" && (o.Approve == nil || o.URL == "") {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "url", Message: "is missing: endpoint " + quote(e.Name) + " decides for somebody, so its messages lead to this server",
				Hint: "as in https://posthouse.example.com",
			}
		}
		n.kicks[e.Name] = make(chan struct{}, 1)
	}
	var err error
	n.answerers, err = answerers(n.endpoints)
	return n, err
}

// CheckURL checks the address of the pages. [posthouse.ErrInvalid] unless it is empty or begins with
// http:// or https://, and has no query.
func CheckURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(s, "?#") {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "url", Message: "is not the address of a server",
			Hint: "it is where people reach the pages, as in https://posthouse.example.com",
		}
	}
	return nil
}

// Run tells the endpoints until ctx ends, and gives them back then: messages on their way have two
// seconds. It returns nil.
func (n *Notifier) Run(ctx context.Context) error {
	var work sync.WaitGroup
	for i := range n.endpoints {
		e := &n.endpoints[i]
		s := &sender{
			lease:    &lease{ledger: n.ledger, name: e.Name, address: e.Channel.Address(), log: n.log},
			endpoint: e, source: n.source(e), counts: n.counts, log: n.log, kick: n.kicks[e.Name],
			holds: func(has bool) { n.hold(e.Name, has) },
		}
		work.Go(func() { s.run(ctx) })
	}
	for _, a := range n.answerers {
		work.Go(func() { a.Listen(ctx, n.desk()) })
	}
	work.Go(func() { n.renew(ctx) })
	work.Wait()
	return nil
}

func (n *Notifier) source(e *Endpoint) *source {
	s := &source{ledger: n.ledger, url: n.url, rule: &e.Rule, types: e.Events, bare: e.OmitContent}
	if e.DecideFor != "" {
		s.approve = n.approver(e)
	}
	_, s.follows = e.Channel.(Following)
	return s
}

// DecidesFor returns the person in whose name the receiver of an endpoint decides, "" for nobody, and the
// secrets that its approval tokens follow from, as [KeyHash].
func (n *Notifier) DecidesFor(endpoint string) (person string, keys []posthouse.Hash) {
	e, err := n.find(endpoint)
	if err != nil || e.DecideFor == "" {
		return "", nil
	}
	all, err := e.Channel.(Keyed).ApprovalKeys()
	if err != nil {
		n.log.Error("the secrets of an endpoint cannot be read: approvals that it was sent are refused", "endpoint", e.Name, "error", err)
	}
	for _, key := range all {
		keys = append(keys, KeyHash(key))
	}
	return e.DecideFor, keys
}

func (n *Notifier) hold(name string, has bool) {
	if has {
		n.held.Add(1)
		return
	}
	n.held.Add(-1)
	n.counts.hide(name)
}

// renew renews the liveness of this process while it has endpoints on a store that others have
// open, too.
func (n *Notifier) renew(ctx context.Context) {
	if x, ok := n.ledger.Store().(posthouse.Excluder); ok && x.Exclusive() || len(n.endpoints) == 0 {
		return
	}
	for sleep(ctx, n.ledger.Core().Config.RenewEvery()) {
		if n.held.Load() == 0 {
			continue
		}
		if err := n.ledger.Core().Heartbeat(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("cannot renew this process's liveness: others may take its endpoints", "error", err)
		}
	}
}

// Metrics returns what was counted, in the text format of Prometheus.
func (n *Notifier) Metrics() []byte { return n.counts.text(n.ledger.Now()) }

// find returns the endpoint with a name. The error of one that is unknown lists those that there
// are.
func (n *Notifier) find(name string) (*Endpoint, error) {
	names := make([]string, 0, len(n.endpoints))
	for i := range n.endpoints {
		if n.endpoints[i].Name == name {
			return &n.endpoints[i], nil
		}
		names = append(names, n.endpoints[i].Name)
	}
	e := posthouse.NotFound("endpoint", clip(name, 80))
	e.Hint = "no endpoint is configured"
	if len(names) > 0 {
		e.Hint = "there is " + strings.Join(names, ", ")
	}
	return nil, e
}

// A Tested is how a test of an endpoint went.
type Tested struct {
	Message   string `json:"message" doc:"id of the message"`
	Delivered bool   `json:"delivered" doc:"the receiver took it"`
	Status    int    `json:"status,omitempty" doc:"of an HTTP answer that is no success"`
	Error     string `json:"error,omitempty" doc:"why it was not delivered"`
	Millis    int64  `json:"millis" doc:"how long the attempt took"`
}

// Test sends an event of type [Test] to an endpoint, once and at once, from this process. A failure
// of the receiver is in the result. [posthouse.ErrNotFound] for an unknown endpoint.
func (n *Notifier) Test(ctx context.Context, name string) (*Tested, error) {
	e, err := n.find(name)
	if err != nil {
		return nil, err
	}
	m := &Message{ID: messageID(string(Test), rand.Text()), Event: &Event{Type: Test, At: n.ledger.Now().UTC().Truncate(time.Millisecond)}, Attempt: 1}
	ctx, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	begun := n.ledger.Now()
	err = e.Channel.Deliver(ctx, m)
	took := n.ledger.Now().Sub(begun)
	t := &Tested{Message: m.ID, Delivered: err == nil, Millis: took.Milliseconds()}
	n.counts.attempt(name, took, err)
	if err != nil {
		f := failureOf(err)
		t.Status, t.Error = f.Status, clip(f.Message, maxError)
	}
	return t, nil
}
