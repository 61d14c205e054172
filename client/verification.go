package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// A Proof asks a server for what proves that its record is whole. [Client.Proof] returns it.
type Proof struct{ client *Client }

// Proof returns what proves that the record of the server is whole.
func (c *Client) Proof() Proof { return Proof{c} }

// A Verification is a walk over the store that checks hashes, chains, signatures and what is derived.
type Verification struct {
	ID      posthouse.ID `json:"id"`
	State   string       `json:"state"` // running, done, failed or cancelled
	By      string       `json:"by"`
	Thread  string       `json:"thread,omitempty"` // the only one that is walked; "" is all
	Started time.Time    `json:"startedAt"`
	Ended   *time.Time   `json:"endedAt,omitempty"`
	Witness *Witnessed   `json:"witness,omitempty"` // that the store is compared with, if one was given

	Threads int   `json:"threads"` // so far, as the next two
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`

	OK      bool           `json:"ok"`                   // it is done, and there is no fault
	Report  Document       `json:"report,omitempty"`     // what was found, as JSON of [github.com/posthouse/posthouse/sign.Report], with the first 100 faults
	Faults  []FaultsOfKind `json:"faultKinds,omitempty"` // how many faults there are
	Problem string         `json:"problem,omitempty"`    // why it failed
}

// FaultsOfKind counts the faults of a kind.
type FaultsOfKind struct {
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Message string `json:"message,omitempty"` // that all of them have; "" where they differ
}

// A Witnessed is the witness that a verification compares the store with.
type Witnessed struct {
	At      time.Time `json:"at"`      // when it was made
	Threads int       `json:"threads"` // that it saw
	Key     string    `json:"key"`     // that signed it
}

// Verify begins to verify the store, or for a name one thread. [posthouse.ErrBusy] says that another
// one runs.
func (p Proof) Verify(ctx context.Context, thread string) (*Verification, error) {
	return p.VerifyAgainst(ctx, thread, "")
}

// VerifyAgainst is [Proof.Verify] that also compares the store with a witness, the text that the server
// gave of it at an earlier time, at most 16 MiB: a store that was put back to an older state has faults.
func (p Proof) VerifyAgainst(ctx context.Context, thread, witness string) (*Verification, error) {
	v := new(Verification)
	return v, p.client.ask(ctx, http.MethodPost, "/api/verifications", nil, members("thread", thread, "witness", witness), v)
}

// Verification returns one that has begun, with its report once it is done. [posthouse.ErrNotFound].
func (p Proof) Verification(ctx context.Context, id posthouse.ID) (*Verification, error) {
	v := new(Verification)
	return v, p.client.ask(ctx, http.MethodGet, "/api/verifications"+Path(string(id)), nil, nil, v)
}

// A Key is a public key that signatures are checked with.
type Key struct {
	ID        string     `json:"id"`
	PEM       string     `json:"pem"`
	NotBefore *time.Time `json:"notBefore,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"` // when it was retired; nil: it is in use
	Signs     bool       `json:"signs"`              // the server signs with it
}

// Keys returns the public keys of the server.
func (p Proof) Keys(ctx context.Context) (all []*Key, err error) {
	err = p.client.ask(ctx, http.MethodGet, "/api/keys", nil, nil, &all)
	return all, err
}

// Witness writes a signed statement of where every thread ends, to be kept elsewhere.
func (p Proof) Witness(ctx context.Context, w io.Writer) error {
	return p.client.download(ctx, "/api/witness", w)
}

// A Caller is who a token stands for.
type Caller struct {
	Name string `json:"name"`
	Role string `json:"role"` // viewer, approver, operator or worker
}

// Me returns who the client's token stands for.
func (c *Client) Me(ctx context.Context) (*Caller, error) {
	me := new(Caller)
	return me, c.ask(ctx, http.MethodGet, "/api/me", nil, nil, me)
}

// Export writes a thread as a file that can be verified and imported. It is as secret as the store.
// After an error the file is not whole.
func (p Proof) Export(ctx context.Context, thread string, w io.Writer) error {
	return p.client.download(ctx, ThreadPath(thread, "export"), w)
}
