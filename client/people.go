package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A Person is a name that the server or its store knows.
type Person struct {
	Name    string    `json:"name"`
	Known   []string  `json:"known"`            // token, login, decided, asked, delegate, substitute
	Decides string    `json:"decides"`          // yes, no or unknown
	Why     string    `json:"why,omitempty"`    // why that is not yes
	Mixed   bool      `json:"mixed,omitempty"`  // the name mixes alphabets with letters that look alike
	Barred  string    `json:"barred,omitempty"` // why the caller cannot hand them the right
	Role    string    `json:"role,omitempty"`   // for operators
	Last    time.Time `json:"lastAt,omitzero"`  // for operators
}

// A Right is the right to decide a gate, of the token's owner. [Client.Right] returns it.
type Right struct {
	client *Client
	gate   posthouse.ID
}

// Right returns the right to decide a gate, which can be handed on.
func (c *Client) Right(gate posthouse.ID) Right { return Right{c, gate} }

// People yields the names of those who decide, or could, in the order of their names. Barred says why the
// right cannot be handed to them.
func (r Right) People(ctx context.Context) iter.Seq2[*Person, error] {
	return exactList[*Person](ctx, r.client, "/api/people", given("gate", string(r.gate)), 0)
}

// A Delegated is a gate after the right to decide it moved.
type Delegated struct {
	posthouse.Gate
	Warning string `json:"warning,omitempty"` // what is not known of the person who may decide now
}

// Delegate hands the right on. [posthouse.ErrForbidden] for a person who may not have it.
func (r Right) Delegate(ctx context.Context, to, reason string) (*Delegated, error) {
	g := new(Delegated)
	return g, r.client.ask(ctx, http.MethodPost, gatePath(r.gate, "delegate"), nil, members("to", to, "reason", reason), g)
}

// TakeBack takes the right back: the newest delegation, with to the newest to that person.
// [posthouse.ErrVoted] and [posthouse.ErrDecided] if it was used.
func (r Right) TakeBack(ctx context.Context, to, reason string) (*posthouse.Gate, error) {
	g := new(posthouse.Gate)
	return g, r.client.ask(ctx, http.MethodPost, gatePath(r.gate, "take-back"), nil, members("to", to, "reason", reason), g)
}
