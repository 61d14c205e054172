package conversation

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

// socketFrame is a message to the client. The member named by Type is set.
type socketFrame struct {
	Type  string           `json:"type"`         // "text", "event", "reply", "error", "session" or "gap"
	ID    string           `json:"id,omitempty"` // of a frame of a request, which can be taken up after it
	Text  string           `json:"text,omitempty"`
	Event any              `json:"event,omitempty"`
	Reply any              `json:"reply,omitempty"`
	Error *problem.Details `json:"error,omitempty"`
}

var errGone = errors.New("server: the client is gone")

func (c *conversation) write(ctx context.Context, f feed.Frame) error {
	return c.tellFrame(ctx, nil, f)
}

// tellFrame writes a frame. of is its feed; nil: it is in no feed.
func (c *conversation) tellFrame(ctx context.Context, of *feed.Feed, f feed.Frame) error {
	out := socketFrame{Type: f.Kind}
	if f.N > 0 {
		out.ID = of.ID(f.N)
	}
	switch x := f.Data.(type) {
	case feed.Text:
		out.Text = x.Text
	case error:
		out.Error = problem.Of(x, c.w.Header().Get(problem.RequestIDHeader))
	case *agentcall.Reply:
		out.Reply = x
	default:
		out.Event = x
	}
	body, err := json.Marshal(out)
	if c.plain() && err == nil {
		body = c.plainText(&out, f)
		if body == nil {
			return nil
		}
	}
	if err != nil {
		return errors.Join(err, c.conn.Close(websocket.StatusInternalError, "a frame could not be encoded"))
	}
	// A write that is cut short ends the connection. So the closing server must
	// not cut it: it sends a close frame.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.WriteTimeout)
	defer cancel()
	c.mu.Lock()
	name := c.actor.Name
	c.mu.Unlock()
	defer c.of.Streams.Unread.Begin(name, len(body), cancel)()
	return c.conn.Write(ctx, websocket.MessageText, body)
}

// plain reports whether the client wants texts in the place of frames.
func (c *conversation) plain() bool { return c.r.Query["frames"] == "text" }

// plainText returns what a client that reads texts gets of a frame, nil for nothing: the pieces of text,
// the reply where there was no text, a question about a tool with what answers it, and errors.
func (c *conversation) plainText(out *socketFrame, f feed.Frame) []byte {
	switch x := f.Data.(type) {
	case feed.Text:
		c.texts.Add(1)
		return []byte(x.Text)
	case *agentcall.Reply:
		if c.texts.Swap(0) > 0 || x == nil {
			return nil
		}
		return []byte(x.Text)
	case error:
		if f.N > 0 {
			c.texts.Store(0) // the request is over
		}
		return []byte("error: " + out.Error.Detail)
	case ApprovalEvent:
		return []byte("error: " + x.Error.Detail) // the others come by a feed
	case json.RawMessage:
		var asked ApprovalEvent
		if json.Unmarshal(x, &asked) != nil || asked.Type != "approval_required" {
			return nil
		}
		return []byte(asked.Message + "\nanswer with /__approval/" + string(asked.ID) + "/approve or /__approval/" + string(asked.ID) + "/deny")
	}
	return nil
}

// ping asks whether the client is still there.
func (c *conversation) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, api.HeartbeatInterval)
	defer cancel()
	err := c.conn.Ping(ctx)
	if err == nil {
		c.client.KeepAlive()
	}
	return err
}
