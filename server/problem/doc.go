// Package problem has the error answers of the HTTP API: problem details (RFC 9457,
// application/problem+json) with a stable code.
//
//	var p problem.Details
//	err := json.NewDecoder(resp.Body).Decode(&p)
//	if p.Code == posthouse.CodeConflict { ... } // p.Decision is the one that stands
//
// Codes are those of the root package, and those here for what only HTTP has.
// A server makes problems with [Of] and [Write]. They tell the client the code, the
// field at fault and what to do next. A cause from below stays in the log, under the
// request's id.
package problem
