package agentcall

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/idempotency"
)

// Keys are the messages that clients named by a key. They hold in every process and after a
// restart.
type Keys struct {
	calls *Calls
	keys  *idempotency.Keys

	mu sync.Mutex // held from looking a key up until its call has begun
}

// NewKeys returns the keys of calls.
func NewKeys(calls *Calls, keys *idempotency.Keys) *Keys { return &Keys{calls: calls, keys: keys} }

// A Named is the message that a key names.
type Named struct {
	Request *idempotency.Request
	Answer  *idempotency.Answer // what it was answered with; nil: that is not on record
	Call    *Call               // nil: another process had it, or this one forgot it
	Thread  string
}

// Start sets an agent to work on a message, once for each key of its sender. Sent again, it
// returns the answer on record, or else the same call.
func (k *Keys) Start(ctx context.Context, key string, m Message) (*Named, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q, answer, err := k.keys.Begin(ctx, &idempotency.Intent{
		Principal: m.By, Key: key, Attach: true, Thread: m.Thread,
		Sent: []string{"message", m.Agent, m.Thread, m.Text, strconv.FormatBool(m.Withdraw)},
	})
	if err != nil {
		return nil, err
	}
	if m.Thread == "" {
		m.Thread = q.Thread
	}
	n := &Named{Request: q, Answer: answer, Thread: m.Thread}
	run := string(q.ID)
	if q.Again {
		c := k.calls.Known.Find(run, m.By)
		if c != nil && c.Feed.Run == run && !c.refused() {
			n.Call = c
			return n, nil
		}
		switch t, err := k.calls.Ledger.Thread(ctx, m.Thread); {
		case answer != nil, err == nil && t.Tail.Seq > q.After:
			return n, nil
		case err != nil && !errors.Is(err, posthouse.ErrNotFound):
			return nil, err
		}
	}
	q.Again = false
	m.Feed = feed.New(run)
	n.Call, err = k.calls.Start(m)
	return n, err
}
