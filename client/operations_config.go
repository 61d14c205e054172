package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A Webhook is an endpoint of the configuration, and how it is.
type Webhook struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`    // of its channel, as in webhook
	Address     string   `json:"address"` // where the receiver is, without secrets
	Events      []string `json:"events,omitempty"`
	Rule        Document `json:"when,omitempty"` // conditions that an event must meet, as JSON
	OmitContent bool     `json:"omitContent,omitempty"`
	DecideFor   string   `json:"decideFor,omitempty"` // the person for whom its receiver decides

	State string    `json:"state"` // new, ok, retrying, down or gone
	Owner string    `json:"owner,omitempty"`
	Since time.Time `json:"since,omitzero"` // what happened before is not told
	At    time.Time `json:"at,omitzero"`    // of the newest entry that it has passed

	Delivered   uint64    `json:"delivered"`
	DeliveredAt time.Time `json:"deliveredAt,omitzero"`
	Pending     int       `json:"pending"` // messages that wait for another attempt
	Oldest      time.Time `json:"oldest,omitzero"`
	Next        time.Time `json:"next,omitzero"` // when the next attempt is
	GivenUp     uint64    `json:"givenUp"`
	Last        []string  `json:"lastGivenUp,omitempty"` // ids of the newest messages that were given up

	Error  *WebhookError  `json:"error,omitempty"`  // the newest attempt that failed
	Replay *WebhookReplay `json:"replay,omitempty"` // the newest replay
}

// A WebhookError is the newest attempt that failed.
type WebhookError struct {
	Message  string    `json:"message"`
	At       time.Time `json:"at"`
	Failures int       `json:"failures"`       // attempts that failed since the newest delivery
	Since    time.Time `json:"since,omitzero"` // when the first of them failed
}

// A WebhookReplay says how far a replay is.
type WebhookReplay struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	By     string    `json:"by,omitempty"`
	Sent   uint64    `json:"sent"`
	Failed uint64    `json:"failed"`
	Ended  time.Time `json:"ended,omitzero"` // zero: it is under way
}

// A WebhookTest says how a test went.
type WebhookTest struct {
	Message   string `json:"message"` // its id
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status,omitempty"` // of an HTTP answer that is no success
	Error     string `json:"error,omitempty"`  // why it was not delivered
	Millis    int64  `json:"millis"`           // how long the attempt took
}

// Webhooks returns the endpoints of the configuration, and how they are.
func (o Operations) Webhooks(ctx context.Context) (all []*Webhook, err error) {
	return all, o.client.ask(ctx, http.MethodGet, "/api/webhooks", nil, nil, &all)
}

// A WebhookDelivery is one attempt to deliver a message.
type WebhookDelivery struct {
	ID        string    `json:"id"` // of the message: the same for each attempt and each replay
	Type      string    `json:"type"`
	Thread    string    `json:"thread,omitempty"`
	Seq       uint64    `json:"seq,omitempty"`
	At        time.Time `json:"at"`     // when it began
	Millis    int64     `json:"millis"` // how long it took
	Attempt   int       `json:"attempt"`
	Replay    bool      `json:"replay,omitempty"` // a replay made it
	Delivered bool      `json:"delivered"`
	Status    int       `json:"status,omitempty"` // of an HTTP answer that is no success
	Error     string    `json:"error,omitempty"`
}

// WebhookDeliveries returns the newest attempts of an endpoint, at most 50, the newest first.
// [posthouse.ErrNotFound] for an unknown endpoint.
func (o Operations) WebhookDeliveries(ctx context.Context, name string) (all []*WebhookDelivery, err error) {
	return all, o.client.ask(ctx, http.MethodGet, webhookPath(name, "deliveries"), nil, nil, &all)
}

// A GateDelivery is how it stands with telling one endpoint of one event of a gate.
type GateDelivery struct {
	Endpoint string    `json:"endpoint"`
	Kind     string    `json:"kind"`  // of its channel: webhook, slack, mail
	Event    string    `json:"event"` // as in gate.opened
	Seq      uint64    `json:"seq"`
	Happened time.Time `json:"happened"`           // the event
	State    string    `json:"state"`              // told, retrying, waiting, stopped, givenUp, passed, earlier or unknown
	At       time.Time `json:"at,omitzero"`        // when the receiver took it, else when it was tried last
	Attempts int       `json:"attempts,omitempty"` // that were made
	First    time.Time `json:"first,omitzero"`     // when it was tried first
	Next     time.Time `json:"next,omitzero"`      // when the next attempt is due
	To       []string  `json:"to,omitempty"`       // people who have it, as far as the channel knows them
	Others   int       `json:"others,omitempty"`   // how many more have it
	Status   int       `json:"status,omitempty"`   // of the answer that was no success
	Error    string    `json:"error,omitempty"`    // how the newest attempt failed; for operators
	Failing  time.Time `json:"failing,omitzero"`   // since when the endpoint takes nothing
}

// GateDeliveries are who was told of a gate, by the order of its events.
type GateDeliveries struct {
	Endpoints int             `json:"endpoints"` // of the server's configuration; 0: it tells no person of anything
	Items     []*GateDelivery `json:"items"`
}

// GateDeliveries returns who was told of a gate, by which channel, and where that failed.
// [posthouse.ErrNotFound] for an unknown gate.
func (o Operations) GateDeliveries(ctx context.Context, id posthouse.ID) (*GateDeliveries, error) {
	d := new(GateDeliveries)
	return d, o.client.ask(ctx, http.MethodGet, "/api/gates"+Path(string(id), "deliveries"), nil, nil, d)
}

// TestWebhook sends an endpoint one event, at once. A receiver that fails is no error: the answer says
// how it went. [posthouse.ErrNotFound] for an unknown endpoint.
func (o Operations) TestWebhook(ctx context.Context, name string) (*WebhookTest, error) {
	t := new(WebhookTest)
	return t, o.client.ask(ctx, http.MethodPost, webhookPath(name, "test"), nil, nil, t)
}

// ReplayWebhook has an endpoint be sent once more what happened since a time. It goes on after the call:
// [Webhook] says how far it is.
func (o Operations) ReplayWebhook(ctx context.Context, name string, since time.Time) error {
	return o.client.ask(ctx, http.MethodPost, webhookPath(name, "replay"), nil, map[string]time.Time{"since": since}, nil)
}

// ResumeWebhook has an endpoint go on that its receiver stopped, and tries at once what waits.
func (o Operations) ResumeWebhook(ctx context.Context, name string) error {
	return o.client.ask(ctx, http.MethodPost, webhookPath(name, "resume"), nil, nil, nil)
}

func webhookPath(name, below string) string { return "/api/webhooks" + Path(name, below) }

// A Token is what is known of an access token.
type Token struct {
	Name       string     `json:"name"`
	Role       string     `json:"role"` // viewer, approver, operator or worker
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`  // nil: never
	Expired    bool       `json:"expired,omitempty"`    // that time is over
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"` // nil: never, or not known
	Logins     int        `json:"logins,omitempty"`     // browsers that are logged in with it, at this server
	Groups     []string   `json:"groups,omitempty"`     // of a worker: that it may take tasks of
	Tasks      []string   `json:"tasks,omitempty"`      // of a worker: the names that it may take
	Maker      string     `json:"maker,omitempty"`      // who made it over the API; "": it was made where the data directory is, or by an earlier version
	Confirmed  bool       `json:"confirmed"`            // false: it and its maker count as one person
	You        bool       `json:"you,omitempty"`        // it is the client's
}

// A NewToken is an access token with its secret, which no later call shows.
type NewToken struct {
	Secret    string     `json:"token"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// TokenOptions refine [Operations.CreateToken]. Nil is the zero value.
type TokenOptions struct {
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // nil: never
	Groups    []string   `json:"groups,omitempty"`    // of a worker: groups that it may take tasks of; * is all
	Tasks     []string   `json:"tasks,omitempty"`     // of a worker: the names of tasks that it may take; nil is all
}

// Tokens returns the access tokens of the server.
func (o Operations) Tokens(ctx context.Context) (all []*Token, err error) {
	return all, o.client.ask(ctx, http.MethodGet, "/api/tokens", nil, nil, &all)
}

// CreateToken makes an access token for a role: viewer, approver, operator or worker.
// [posthouse.ErrExists] if the name is taken.
func (o Operations) CreateToken(ctx context.Context, name, role string, t *TokenOptions) (*NewToken, error) {
	if t == nil {
		t = new(TokenOptions)
	}
	body := struct {
		Name string `json:"name"`
		Role string `json:"role"`
		*TokenOptions
	}{name, role, t}
	made := new(NewToken)
	return made, o.client.ask(ctx, http.MethodPost, "/api/tokens", nil, body, made)
}

// ConfirmToken says that an access token is another person's than its maker's. [posthouse.ErrForbidden] for
// its maker, for a client with a token of that maker, and for one with a token that is not confirmed.
func (o Operations) ConfirmToken(ctx context.Context, name string) error {
	return o.client.ask(ctx, http.MethodPost, "/api/tokens"+Path(name, "confirm"), nil, nil, nil)
}

// RevokeToken ends an access token, and the logins with it. [posthouse.ErrNotFound].
func (o Operations) RevokeToken(ctx context.Context, name string) error {
	return o.client.ask(ctx, http.MethodDelete, "/api/tokens"+Path(name), nil, nil, nil)
}
