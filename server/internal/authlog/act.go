package authlog

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
)

// Thread has the records.
const Thread = "$access"

// Accounts is the thread that says which account has which name; see package accounts.
const Accounts = "$people"

// Private reports whether a thread says who logs in and how, which is for operators alone.
func Private(thread string) bool { return thread == Thread || thread == Accounts }

// A Kind says what happened. It is the name of the signal, which no program takes and no client sends.
type Kind string

// The kinds.
const (
	Login        Kind = "$login"
	Logout       Kind = "$logout"
	Refused      Kind = "$login-refused"
	TokenMade    Kind = "$token-made"
	TokenRevoked Kind = "$token-revoked"

	TokenConfirmed Kind = "$token-confirmed" // it is another person's than its maker's
)

// How a client showed who it is.
const (
	ByToken   = "token"   // an access token in the login form
	ByLink    = "link"    // the code of a link that logs in once
	ByAccount = "account" // an account elsewhere
	ByHeader  = "header"  // an access token in the header of a request, or the subprotocol of a WebSocket
	ByMessage = "message" // an access token in the first message of a WebSocket
)

// An Act is the value of a record.
type Act struct {
	Person  string `json:"person,omitempty"` // of the token or account, if that is known
	Role    string `json:"role,omitempty"`
	Method  string `json:"method,omitempty"`  // how they showed who they are
	Address string `json:"address,omitempty"` // of the client, or of the proxy before it
	Why     string `json:"why,omitempty"`     // a refusal

	// Count is how many a record stands for, where it is not one; Since when the first was. Then
	// Of says for whom or where from, and Others how many there were beside these.
	Count  int       `json:"count,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Of     []Share   `json:"of,omitempty"`
	Others int       `json:"others,omitempty"`

	Expires time.Time `json:"expires,omitzero"` // of a token
	Groups  []string  `json:"groups,omitempty"` // of a worker's token, as [tokens.Token] has them
	Tasks   []string  `json:"tasks,omitempty"`
	Beside  bool      `json:"beside,omitempty"` // it was changed in the data directory, beside the server
}

// A Share is how many of a sum belong to a name or an address.
type Share struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// A Visit is how and from where a client came.
type Visit struct {
	By      string
	Address string
}

// Address returns the address of a client, without its port.
func Address(r *http.Request) string { return limit.Host(r.RemoteAddr) }

// maxValue bounds the value of a record, in bytes.
const maxValue = 8 << 10

// A record is what one signal has.
type record struct {
	kind Kind
	by   string
	act  Act
	done chan struct{} // closed when it is on record; nil: no caller waits
}

func (r *record) value() json.RawMessage {
	v, err := json.Marshal(&r.act)
	if err != nil || len(v) > maxValue { // too many groups and tasks
		short := r.act
		short.Groups, short.Tasks = nil, nil
		v, _ = json.Marshal(&short) // texts and numbers
	}
	return v
}

func (a *Act) setToken(t *tokens.Token) {
	a.Person, a.Role, a.Expires, a.Groups, a.Tasks = t.Name, string(t.Role), t.ExpiresAt, t.Groups, t.Tasks
}
