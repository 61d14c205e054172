package server

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
)

// Limits bound what one request, or all together, may take. Zero values mean
// the defaults.
type Limits struct {
	Body        int64         // bytes of a request's body; default 1 MiB
	State       int64         // bytes of a body that carries state or a decided value; default 12 MiB: 8 MiB in base64
	Page        int           // bytes of states on one page of a list, at least one checkpoint; default 16 MiB
	Wait        time.Duration // how long an answer waits for the outcome; default 30 s
	Call        time.Duration // how long one agent may work on a request; default 15 min
	Concurrency int           // requests that agents work on at once; default 100
	Streams     int           // open event streams and WebSockets, and claims of workers that wait; default 1,000

	TokenStreams     int // of those for each token, so that no token holds all; default a quarter of them, at least 2
	TokenConcurrency int // of Concurrency for each token; default half of them, at least 1

	Reads      int // answers to GET that are made at once, of up to Page bytes each; default 32. More wait
	TokenReads int // of those for each token; default a quarter of them, at least 1

	// Unread is how many bytes of events the clients of one token may leave unread, on all
	// their streams and WebSockets. Of more, the stream that waits longest is ended: its
	// client goes on with the last event that it has. Default: 4 MiB, and eight times as
	// much for all tokens together. Other answers have sixteen times as much.
	Unread int

	// TokenBodies is how many bytes of bodies of requests the server holds for one token, by their
	// declared lengths; more wait until there is room. Default: four times State. One address has
	// twice as much, unless it is loopback.
	TokenBodies int64

	// Anonymous is how many bytes of bodies it holds for all clients without a token: login forms and
	// what a channel sends. One address has an eighth, unless it is loopback. Of more, the body that is
	// read for longest is given up. Default: 8 MiB.
	Anonymous int64

	// Connections is how many connections one address has, of IPv6 one network of 64 bits, unless it is
	// loopback or one of Options.TrustProxy. More are closed as they come. Default: 1,000.
	Connections int

	Session time.Duration // how long a login lasts; default 12 h
	// Clients is how many sessions of clients the store keeps. Each first digit of their
	// hash has a sixteenth of them, and one token a quarter of that; of more, its own
	// oldest ends. Default: 10,000.
	Clients int
	Client  time.Duration // how long one is kept that is not used; default 24 h
	Token   time.Duration // how long a WebSocket may take to send its token in a message; default 10 s
}

func (l Limits) withDefaults() (Limits, error) {
	least := min(l.Body, l.State, l.TokenBodies, l.Anonymous,
		int64(min(l.Connections, l.Page, l.Concurrency, l.Streams, l.TokenStreams, l.TokenConcurrency, l.Reads, l.TokenReads, l.Unread, l.Clients)),
		int64(min(l.Wait, l.Call, l.Session, l.Client, l.Token)))
	if least < 0 {
		return l, posthouse.Invalid("Limits", "has a negative value; 0 means the default")
	}
	def(&l.Body, 1<<20)
	def(&l.State, 12<<20)
	def(&l.Page, 16<<20)
	def(&l.Wait, 30*time.Second)
	def(&l.Call, 15*time.Minute)
	def(&l.Concurrency, 100)
	def(&l.Streams, 1000)
	def(&l.TokenStreams, max(l.Streams/4, 2))
	def(&l.TokenConcurrency, max(l.Concurrency/2, 1))
	def(&l.Reads, 32)
	def(&l.TokenReads, max(l.Reads/4, 1))
	def(&l.Unread, 4<<20)
	def(&l.TokenBodies, 4*l.State)
	def(&l.Anonymous, 8<<20)
	def(&l.Connections, 1000)
	def(&l.Session, 12*time.Hour)
	def(&l.Token, 10*time.Second)
	def(&l.Clients, 10_000)
	def(&l.Client, 24*time.Hour)
	return l, nil
}

func def[T comparable](v *T, d T) { *v = cmp.Or(*v, d) }
