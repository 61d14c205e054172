package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Headers of our own. Every answer has the first two, a page of a list the third.
const (
	RequestIDHeader  = "X-Request-Id"  // names the request in the server's log
	TraceIDHeader    = "X-Trace-Id"    // of the trace that the request belongs to: the client's traceparent, or a new one
	NextCursorHeader = "X-Next-Cursor" // where the next page of a list begins
)

// Codes that only HTTP has, beside those of [posthouse.Code].
const (
	CodeUnauthenticated posthouse.Code = "unauthenticated" // 401: no token, or one that is not valid
	CodeMethod          posthouse.Code = "method"          // 405: the path exists, for other methods
	CodePrecondition    posthouse.Code = "precondition"    // 412: If-Match does not match
	CodeMediaType       posthouse.Code = "media-type"      // 415: a body that is not JSON
	CodeHost            posthouse.Code = "host"            // 421: the Host is not one this server answers for
	CodeUpgrade         posthouse.Code = "upgrade"         // 426: this path speaks WebSocket only
	CodeInProgress      posthouse.Code = "in-progress"     // 409: a request with this Idempotency-Key is still being worked on
	CodeKeyReused       posthouse.Code = "key-reused"      // 422: the Idempotency-Key was sent with another request
	CodeTooMany         posthouse.Code = "too-many"        // 429: too many streams or running requests
	CodeInternal        posthouse.Code = "internal"        // 500: the log has the cause, under the request's id
)

var statuses = map[posthouse.Code]int{
	CodeUnauthenticated: http.StatusUnauthorized,
	CodeMethod:          http.StatusMethodNotAllowed,
	CodePrecondition:    http.StatusPreconditionFailed,
	CodeMediaType:       http.StatusUnsupportedMediaType,
	CodeHost:            http.StatusMisdirectedRequest,
	CodeUpgrade:         http.StatusUpgradeRequired,
	CodeInProgress:      http.StatusConflict,
	CodeKeyReused:       http.StatusUnprocessableEntity,
	CodeTooMany:         http.StatusTooManyRequests,
	CodeInternal:        http.StatusInternalServerError,
}

// Status returns the HTTP status of a code.
func Status(c posthouse.Code) int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return c.HTTPStatus()
}

// Details are the body of every error answer: RFC 9457, media type
// application/problem+json. Beside the standard members it has those of
// [posthouse.Error] that say what won.
type Details struct {
	Type     string         `json:"type"`             // a stable URI, one per code
	Title    string         `json:"title"`            // the status in words
	Status   int            `json:"status"`           // the HTTP status
	Detail   string         `json:"detail,omitempty"` // what happened, for a person
	Instance string         `json:"instance"`         // names this answer in the server's log
	Code     posthouse.Code `json:"code"`
	Field    string         `json:"field,omitempty"` // the input at fault
	Hint     string         `json:"hint,omitempty"`  // what to do next

	Tail     *posthouse.Position `json:"tail,omitempty"`
	Head     posthouse.ID        `json:"head,omitempty"`
	Lease    *posthouse.Lease    `json:"lease,omitempty"`
	Gate     posthouse.ID        `json:"gate,omitempty"`     // the gate that replaced the one named
	Decision *posthouse.Decision `json:"decision,omitempty"` // the one that stands
	Gates    []posthouse.ID      `json:"gates,omitempty"`    // those to choose from
	TraceID  string              `json:"trace_id,omitempty"` // of the trace that the request belongs to
	Wait     time.Duration       `json:"wait,omitempty"`     // nanoseconds, until a thread is free that its owner left
}

const problemType = "https://github.com/posthouse/posthouse/blob/main/docs/errors.md#"

// Of returns what the client may know of err. The cause within an error of ours, and an
// error of another package, stay in the log.
func Of(err error, requestID string) *Details {
	e := Client(err)
	s := Status(e.Code)
	p := &Details{
		Type: problemType + string(e.Code), Title: http.StatusText(s), Status: s, Code: e.Code,
		Instance: "urn:posthouse:request:" + requestID, Field: e.Field, Detail: e.Message, Hint: e.Hint,
		Tail: e.Tail, Head: e.Head, Gate: e.Gate, Lease: e.Lease, Decision: e.Decision, Gates: e.Gates, Wait: e.Wait,
	}
	if e.Field != "" && e.Message != "" {
		p.Detail = e.Field + " " + e.Message
	}
	if e.Code == posthouse.CodeInvalid && e.Err != nil {
		p.Detail += fmt.Sprintf(": %.1000s", e.Err) // about the client's own input
	}
	return p
}

// Client returns what a client may know of err. An error of another package
// becomes one without details.
func Client(err error) *posthouse.Error {
	var e *posthouse.Error
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "body", Message: fmt.Sprintf("is over the limit of %d bytes", big.Limit),
			Hint: "send less, or a reference; posthouse serve --max-state raises what a state may have",
		}
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "it took too long", Hint: "look at the outcome, then try again"}
	}
	return &posthouse.Error{Code: CodeInternal, Message: "something went wrong on the server", Hint: "the server's log has the cause under this request's id"}
}

// Write answers with err.
func Write(w http.ResponseWriter, err error) { WriteAs(w, err, json.Marshal) }

// WriteAs answers with err, in the form that marshal gives it.
func WriteAs(w http.ResponseWriter, err error, marshal func(any) ([]byte, error)) {
	h := w.Header()
	p := Of(err, h.Get(RequestIDHeader))
	p.TraceID = h.Get(TraceIDHeader)
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="posthouse"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	if p.Code == CodeInProgress {
		h.Set("Retry-After", "1")
	}
	for _, name := range []string{"ETag", "Link", NextCursorHeader, "Location", "Content-Disposition"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	body, err := marshal(p)
	if err != nil {
		body = []byte(`{"status":500,"code":"internal"}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone, and there is no other receiver
}

// NotFound returns a [posthouse.ErrNotFound] about a thing and the first 200
// characters of its name.
func NotFound(what, name string) *posthouse.Error {
	return &posthouse.Error{Code: posthouse.CodeNotFound, Message: fmt.Sprintf("there is no %s %.200q", what, name)}
}
