// Package link says how workers and engines find each other, whatever carries the calls
// between them.
//
//	l, err := natslink.Open(ctx, &link.Options{URL: "tls://nats-1:4222,tls://nats-2:4222", Credentials: "worker.creds"})
//	defer l.Close()
//	engine, err := l.Engine()       // at a worker
//	stop, err := l.Serve(dispatcher) // at an engine
//
// A binary that takes addresses on its command line is given what opens them, as it is given
// what opens stores: so it links no carrier that it does not use.
package link

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"

	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
)

// A Link is a connection to where workers and engines meet.
type Link interface {
	// Serve answers workers with an engine, until stop is called or the Link is closed.
	Serve(e task.Engine) (stop func(), err error)

	// Engine returns the engine that answers a worker.
	Engine() (task.Engine, error)

	// Share sends a chunk to the other engines that meet here. It does not wait for them.
	Share(c task.Chunk) error

	// Follow calls fn with what other engines share, one chunk after the other, until stop is
	// called or the Link is closed.
	Follow(fn func(task.Chunk)) (stop func(), err error)

	// Queue returns the queue of hints that engines share here; nil where there can be one
	// engine only.
	Queue() hint.Queue

	// Letters returns the unusable messages of this link.
	Letters() deadletter.Box

	// Address is where workers connect, without secrets.
	Address() string

	// Close ends the connection, and the server if it is in this process.
	Close() error
}

// Options say where to connect, or where to listen. One of URL and Listen is required.
type Options struct {
	URL    string // of servers elsewhere, several with commas between
	Listen string // HOST:PORT of a server in this process; port 0 picks a free one

	Credentials string // path of a file with a user's JWT and key, for URL
	Token       string // for URL, where that names no user
	CA          string // path, PEM: who signed the certificates of URL's servers; default: whom the system trusts
	Cert, Key   string // paths, PEM: this side's certificate. Beyond loopback, Listen requires one

	// Pass says what a worker may take that calls under a name. At a server elsewhere that is the
	// name which the permissions of its user pin, or [AddressOf] the token that it shows; at
	// Listen's server it is the latter. Default: any task, under that name.
	Pass func(worker string) (*task.Pass, error)

	// Worker is the name under which a worker calls where it shows no token. Default: what it
	// calls itself.
	Worker string

	// Allow reports whether a worker that shows a token may connect to Listen's server. It is
	// called for each connection, and again while that lasts. Listen requires it.
	Allow func(token string) (bool, error)

	Logger *slog.Logger // default: no log
}

// AddressOf returns the name under which a worker calls that shows a token, made of the SHA-256
// of the token. Who does not know that cannot name it.
func AddressOf(hash [sha256.Size]byte) string {
	h := sha256.Sum256(append([]byte("posthouse task address\x00"), hash[:]...))
	return hex.EncodeToString(h[:16])
}

// An Opener opens a Link.
type Opener func(ctx context.Context, o *Options) (Link, error)
