package conversation

import (
	"context"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// MaxFirst bounds the message that brings a token, in bytes.
const MaxFirst = 4 << 10

// admit notes who the client is.
func (c *conversation) admit(t tokens.Token) {
	tools := c.of.Tools.openSession(&gate.SessionOptions{By: t.Name, Announce: c.announce, Decided: c.decided, Now: c.of.Now})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actor, c.tools = t, tools
}

// login reads the token from the first message.
func (c *conversation) login(text string) bool {
	var first struct {
		Token string `json:"token"`
	}
	if strict.Decode([]byte(text), &first) != nil { // its error could repeat the token
		c.refuse(c.of.Auth.NoToken(c.r.Request))
		return false
	}
	tok, ok, err := c.of.Auth.AuthenticateSecret(c.w, c.r.Request, authlog.ByMessage, first.Token)
	if err == nil && !ok {
		err = c.of.Auth.Unauthenticated(tok)
	}
	if err == nil {
		err = auth.RequireRole(tok, c.r.Route.Role)
	}
	if _, known := c.of.Calls.Agents[c.agent]; err == nil && !known {
		err = c.of.Calls.Unknown(c.agent)
	}
	var leave func()
	if err == nil {
		leave, err = c.of.Streams.Quota.Take(tok.Name)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	c.leave()
	c.leave = leave
	close(c.known)
	c.admit(tok)
	c.client, err = c.of.Sessions.Open(c.of.Streams.Life.Context(), c.r, tok.Name)
	if err != nil {
		c.refuse(err)
		return false
	}
	return c.welcome(c.of.Streams.Life.Context())
}

// welcome gives a client its session back, and then the rest of the request that it
// was on. It reports whether to go on.
func (c *conversation) welcome(ctx context.Context) bool {
	if c.client != nil {
		i, err := c.client.Info(ctx)
		if err != nil {
			c.refuse(err)
			return false
		}
		if c.write(ctx, feed.Frame{Kind: "session", Data: i}) != nil {
			return false
		}
	}
	p, err := agentcall.PositionOf(c.r)
	if err == nil && p == (agentcall.Position{}) {
		return true
	}
	var was *agentcall.Call
	var after uint64
	if err == nil {
		was, after, err = c.of.Calls.Known.FindAt(p, c.actor.Name)
	}
	if err != nil {
		api.NoteError(c.w, err)
		return c.write(ctx, feed.Frame{Kind: "error", Data: err}) == nil
	}
	return c.listen(ctx, was.Feed.Listen(after))
}

// refuse tells why and ends the connection.
func (c *conversation) refuse(err error) {
	api.NoteError(c.w, err)
	_ = c.write(c.of.Streams.Life.Context(), feed.Frame{Kind: "error", Data: err}) // the close that follows says it too
	_ = c.conn.Close(websocket.StatusPolicyViolation, string(problem.Client(err).Code))
}
