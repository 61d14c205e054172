package notify

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/posthouse/posthouse"
)

// An Answering channel lets people answer where they are told.
type Answering interface {
	Channel

	// Answers returns who takes the answers: one value for all channels that share it.
	Answers() Answerer
}

// An Answerer takes answers that people give in channels of one kind, and puts them on record through
// a [Desk], in the name of the person that the configuration knows the sender as. It must be safe for
// concurrent use.
type Answerer interface {
	// Listen takes answers over connections that it opens, until ctx ends. Each server does so. It
	// returns at once where there is nothing to listen to.
	Listen(ctx context.Context, d *Desk)

	// Receive takes a request that came to /api/channels/KIND without a login. It makes sure of who
	// sent it before anything else. It writes a whole answer, or nothing and returns an error.
	Receive(w http.ResponseWriter, r *http.Request, d *Desk) error
}

// A Desk is where an [Answerer] works.
type Desk struct {
	Gate   func(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error)
	Decide func(ctx context.Context, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error)
	Link   func(id posthouse.ID) string // to a gate's page; "" where no address of the pages is known
	Logger *slog.Logger
}

// desk returns the desk of answers. They are refused on a notifier without Options.Decide.
func (n *Notifier) desk() *Desk {
	decide := n.decide
	if decide == nil {
		decide = func(context.Context, posthouse.ID, posthouse.Decision) (*posthouse.Gate, error) {
			return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "no answer is taken here", Hint: "give Decide in the options of the notifier"}
		}
	}
	return &Desk{Gate: n.ledger.Gate, Decide: decide, Link: func(id posthouse.ID) string { return pageOf(n.url, id) }, Logger: n.log}
}

// answerers returns who takes answers, by the kind of channel. Channels of one kind share one.
func answerers(endpoints []Endpoint) (map[string]Answerer, error) {
	all := map[string]Answerer{}
	for i := range endpoints {
		a, ok := endpoints[i].Channel.(Answering)
		if !ok {
			continue
		}
		kind, one := a.Kind(), a.Answers()
		if other := all[kind]; other != nil && other != one {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "endpoint", Message: quote(endpoints[i].Name) + " takes answers apart from other endpoints of kind " + kind,
				Hint: "make all channels of one kind from one app",
			}
		}
		all[kind] = one
	}
	return all, nil
}

// Receive hands a request to who takes the answers of a kind of channel. [posthouse.ErrNotFound] if no
// endpoint is of that kind, or if it takes no answers.
func (n *Notifier) Receive(w http.ResponseWriter, r *http.Request, kind string) error {
	a := n.answerers[kind]
	if a == nil {
		return posthouse.NotFound("channel", clip(kind, 80))
	}
	return a.Receive(w, r, n.desk())
}
