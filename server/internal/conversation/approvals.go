package conversation

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

// announce tells the client of an approval that it is asked for.
func (c *conversation) announce(g *posthouse.Gate) error {
	return c.sendApproval(ApprovalEvent{
		Type: "approval_required", ID: g.ID, Tool: g.Name, Arguments: g.Payload, Message: g.Text,
		Expires: int(g.ExpiresAt.Sub(g.CreatedAt).Seconds()),
	})
}

// decided tells the client of an approval's answer, before what follows from it.
func (c *conversation) decided(g *posthouse.Gate) {
	_ = c.sendApproval(ApprovalEvent{Type: "approval_resolved", ID: g.ID, Decision: g.Decision}) // the answer counts all the same
}

// sendApproval sends an event between the other frames of the message that is worked on.
func (c *conversation) sendApproval(e ApprovalEvent) error {
	c.mu.Lock()
	l := c.listener
	c.mu.Unlock()
	if l == nil {
		return errGone
	}
	if err := l.Feed.Event(e); err != nil {
		return err
	}
	select {
	case <-l.Gone:
		return errGone
	default:
		return nil
	}
}

// answer takes a text that answers an approval, and reports whether it was one. The
// message of the tool that asked is still worked on.
func (c *conversation) answer(ctx context.Context, text string) bool {
	m, ok := gate.ParseMessage(text)
	c.mu.Lock()
	actor := c.actor
	c.mu.Unlock()
	if !ok || actor.Name == "" {
		return false // the first message of an unknown client is its token
	}
	if ok, err := c.of.Auth.Current(actor); err != nil || !ok {
		return false // the next message ends the conversation
	}
	if _, err := c.of.Tools.answerMessage(ctx, m, actor); err != nil {
		e := ApprovalEvent{Type: "approval_refused", ID: m.ID, Error: problem.Of(err, c.w.Header().Get(problem.RequestIDHeader))}
		_ = c.write(ctx, feed.Frame{Kind: "event", Data: e}) // a client that is gone is noticed by the reader
	}
	return true
}

// An ApprovalEvent tells the client of a conversation about an approval.
type ApprovalEvent struct {
	Type      string              `json:"type"` // approval_required, approval_resolved or approval_refused
	ID        posthouse.ID        `json:"id"`
	Tool      string              `json:"tool,omitempty"`
	Arguments json.RawMessage     `json:"arguments,omitempty"`
	Message   string              `json:"message,omitempty"`
	Expires   int                 `json:"expiresInSeconds,omitempty"`
	Decision  *posthouse.Decision `json:"decision,omitempty"`
	Error     *problem.Details    `json:"error,omitempty"`
}
