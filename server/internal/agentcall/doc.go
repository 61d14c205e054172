// Package agentcall has agents work on messages, for clients that may leave and come back.
//
//	calls := &agentcall.Calls{Agents: agents, Known: agentcall.NewRegistry(now, 100), ...}
//	c, err := calls.Start(agentcall.Message{Agent: "dispatch", Text: "refund order 1234", By: "ci"})
//	l := c.Feed.Listen(0) // what the agent says, to its last frame
//	again, after, err := calls.Known.FindAt(position, "ci")
//
// A call does not end when its client leaves. [Registry] finds it again, by the [Position] that
// the client sends. With a key, [Keys.Start] starts a message once: sent again it finds its
// call, or the thread of the call that another process had.
package agentcall
