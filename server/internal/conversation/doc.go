// Package conversation has the WebSockets on which clients talk to agents.
//
// [Sockets] are the routes. A connection sends messages, one call of an agent each, and gets
// what the agent says, its replies, and the approvals that its tools ask for. Whoever has no
// token in a header sends it in the first message. A client that comes back gets its session
// and the rest of the call that it was on.
//
// [ToolApprovals] are the approvals that wait on connections, which other clients may answer as well.
package conversation
