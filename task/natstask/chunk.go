package natstask

import (
	"encoding/json"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse/task"
)

// fromHeader names the relay that shared a chunk.
const fromHeader = "Posthouse-From"

// A Relay passes what handlers stream between engines. Whoever is not there misses it.
type Relay struct {
	conn    *nats.Conn
	subject string
	name    string
}

// NewRelay returns a relay over a connection. [posthouse.ErrInvalid] for a prefix that does not
// fit.
func NewRelay(conn *nats.Conn, o *Options) (*Relay, error) {
	p, err := o.prefix()
	if err != nil {
		return nil, err
	}
	return &Relay{conn, p + ".chunk", nats.NewInbox()[len(nats.InboxPrefix):]}, nil
}

// Share sends a chunk to the other relays with this prefix. It does not wait for them.
func (r *Relay) Share(c task.Chunk) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return r.conn.PublishMsg(&nats.Msg{Subject: r.subject, Header: nats.Header{fromHeader: {r.name}}, Data: b})
}

// Follow calls fn with each chunk that another relay shares, one after the other, until stop
// is called. It skips messages that are no chunks.
func (r *Relay) Follow(fn func(task.Chunk)) (stop func(), err error) {
	sub, err := r.conn.Subscribe(r.subject, func(m *nats.Msg) {
		var c task.Chunk
		if m.Header.Get(fromHeader) != r.name && json.Unmarshal(m.Data, &c) == nil && c.Thread != "" {
			fn(c)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails with the connection only
}
