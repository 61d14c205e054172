package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
)

// A Client is the session of one request or connection. A nil Client is one without a session.
type Client struct {
	of    *Sessions
	Token string
	new   bool
	Session

	touched time.Time // when its session was last found to be in use
}

// Info returns what the client gets back, with where its thread is now.
func (c *Client) Info(ctx context.Context) (*SessionInfo, error) {
	i := &SessionInfo{
		Token: c.Token, New: c.new, Rooms: c.Rooms, Metadata: c.Metadata, Thread: c.Thread, Checkpoint: c.Checkpoint, Gate: c.Gate, LastEventID: c.Cursor,
		CreatedAt: c.CreatedAt, LastSeen: c.LastSeen,
	}
	if c.Thread == "" {
		return i, nil
	}
	i.Run = c.of.Running(c.Thread, c.Principal)
	t, err := c.of.Ledger.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return i, nil // not begun yet, released or deleted: the session has the last that is known
	}
	if err != nil {
		return nil, err
	}
	i.Status, i.Gate = t.Status, ""
	if b, ok := t.Branch(""); ok {
		i.Checkpoint = b.Head
	}
	for g, err := range c.of.Ledger.Gates(ctx, ledger.GateQuery{Thread: c.Thread, Limit: 1}) {
		if g == nil {
			return nil, err
		}
		i.Gate = g.ID
	}
	return i, nil
}

// updateSession changes the session on record, also after the client has gone.
func (c *Client) updateSession(change func(*Session)) {
	if c == nil {
		return
	}
	if err := c.of.Store.Update(context.WithoutCancel(c.of.Life.Context()), c.Token, change); err != nil {
		c.of.Log.Error("a session cannot be saved", "error", err)
	}
}

// KeepAlive notes that the client is connected, so that its session does not end.
// It writes at most 24 times in the time that a session is kept.
func (c *Client) KeepAlive() {
	if c == nil || c.of.Now().Sub(c.touched) < c.of.TTL/24 {
		return
	}
	c.touched = c.of.Now()
	c.updateSession(func(*Session) {})
}

// Working notes the thread that a message is worked on.
func (c *Client) Working(thread string) {
	c.updateSession(func(x *Session) { x.Thread, x.Checkpoint, x.Gate = thread, "", "" })
}

// Replied notes where a reply left the thread.
func (c *Client) Replied(thread string, checkpoint, gate posthouse.ID) {
	c.updateSession(func(x *Session) { x.Thread, x.Checkpoint, x.Gate = thread, checkpoint, gate })
}

// Saw notes the last event that was sent.
func (c *Client) Saw(cursor string) {
	if cursor != "" {
		c.updateSession(func(x *Session) { x.Cursor = cursor })
	}
}

func (c *Client) show(w http.ResponseWriter, r *api.Request) error {
	i, err := c.Info(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set(Header, c.Token)
	return api.WriteJSON(w, http.StatusOK, i)
}
