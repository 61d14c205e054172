// Package server serves a [ledger.Ledger] over HTTP: an API in JSON, streams
// of events, WebSockets for agents, and a page that lists what waits for a
// decision.
//
//	ts, err := tokens.Open(dir, nil) // package server/tokens
//	path, _, err := ts.First() // an operator's token, at the first start
//	s, err := server.New(server.Options{Ledger: ledger, Tokens: ts, Agents: agents, Runner: r})
//	err = server.CheckListen(addr, false, false)
//	err = s.HTTPServer(addr).ListenAndServe()
//
// The API is resources: checkpoints, gates, threads, tasks and others. The file
// resources.go lists them with their paths; each is a type with its routes and
// its handlers. Their routes together (/openapi.json on the wire, /docs/api in a
// browser) are the whole surface. The mux, the roles, the parameter checks and
// the documentation are made from them, so all say the same.
//
// Paths below /api are version 1, which /version, /openapi.json and the header
// Posthouse-Api-Version say; a change that breaks clients would get /api/v2. Lists are an object of
// items and next, which goes into cursor for the page after; fields leaves members out.
// GET /api/checkpoints alone answers an array: GET /api/threads/{id}/checkpoints lists as the
// others do.
//
// # Who may do what
//
// Every request but those to /healthz, /readyz, /version, /openapi.json and the login
// page brings an access token: in the Authorization header, as a WebSocket
// subprotocol, or as the session cookie that the login page sets; never in
// a URL. A token has a role: a [tokens.Viewer] reads, an [tokens.Approver] also decides gates,
// an [tokens.Operator] does everything. The actor on record is the token's
// name. An operator may act for others with by, which is recorded beside it.
//
// An approval token (POST /api/gates/{id}/token) is for a person without access: it
// carries one decision of one gate to POST /api/gates/{id}/decide-by-token, the only
// path that takes it. The rules of the gate hold for that person as for any.
//
// The Host must be loopback's or an allowed one, against DNS rebinding; requests
// that a page of another origin makes are refused, on every path; there is no
// CORS. Sizes, times and the number of streams and running requests are bounded
// by [Limits].
//
// # Programs
//
// GET /api/programs lists what is served, GET /api/programs/{program} shows how a program
// describes itself. POST /api/programs/{program}/runs begins a run with JSON, which the program
// checks. The input is on record before the answer, 201, and a runner goes on with it. So the
// client need not wait, and a server that dies loses no run. GET /api/programs/{program}/standing
// counts the threads that have not ended, by node and by version.
//
// # Decisions
//
// POST /api/gates/{id}/approve, or /api/checkpoints/{id}/approve where that
// checkpoint has one open gate; reject, edit, respond and cancel are alike. The
// decision is on record before anything it sets off begins. Then the answer
// waits for what follows: 200 with the next checkpoint, its status failed if the
// program failed, or 202 with where to look if that takes longer than
// Limits.Wait, or than the seconds of the header Prefer: wait=5. A client that goes
// away changes nothing of this.
//
// A gate is decided once. A second decision gets 409, with the first one in the
// member decision, also from the same client with the same body. So after a lost
// answer, send it again and read the decision. An expired gate is 410.
//
// The request parameter of approve replaces the request that was proposed: it is
// recorded as an edit with the value {"request": ...}.
//
// # Sessions of clients
//
// A client that sends the header X-Posthouse-Session (or Atmosphere's
// X-Atmosphere-Session-Token, or the parameter session where it cannot set
// headers) has a session: rooms, metadata, the last event it saw, and the thread
// it works on, kept in the store. The first event of a stream, or frame of a
// WebSocket, gives all of it back, with the thread's newest checkpoint and open
// question as they are by then; events go on after the last one seen. A token
// that is unknown, expired (Limits.Client) or another principal's begins a new
// session, not an error; the answer's header says its token.
//
// # Requests that lost their client
//
// An agent does not stop when its client leaves. The newest of its events are kept
// while it works and for five minutes after. GET /api/run, or a new WebSocket, takes
// the request up after the last event that the client has. The request is named by
// the header X-Posthouse-Run of its answer (Atmosphere's X-Atmosphere-Run-Id, or the
// parameter run where headers cannot be set), by its thread, by the id of an event
// (Last-Event-ID), or by the client's session. Only its sender finds it. An approval
// that waited on the lost connection was denied with it.
//
// # Workers
//
// POST /api/worker/connect, claim, heartbeat and so on, one path for each of [wire.Methods],
// are a [task.Engine] over HTTP, for Options.Tasks. Their role is
// [tokens.Worker], which opens nothing else. A claim that waits is counted as a stream.
//
// # Errors
//
// An answer that is not a success is a [problem.Details], application/problem+json.
// Its stable code is one of package posthouse, or of server/problem for what only HTTP
// has. Causes from below stay in the log, under the request's id.
//
// # Caveats
//
//   - Logins of browsers are kept in memory: a restart logs everybody out. The
//     sessions of clients are not logins, and stay.
//   - A list of checkpoints with states shows the newest first, and a page ends early when
//     its states grow beyond Limits.Page; follow the cursor, not the count.
//   - The log has one line a request: no query, header or body is in it.
//   - The events of requests are kept in memory. After a restart, and on another
//     server, only what a request recorded is there.
//   - [Server.Close] waits for agents that work.
package server
