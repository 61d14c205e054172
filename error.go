package posthouse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Code is the stable name of a kind of failure. The same codes appear in
// HTTP bodies, in the CLI's --json output and in docs/errors.md.
type Code string

// The codes. Each has a sentinel error that matches it by errors.Is.
const (
	CodeInvalid     Code = "invalid"      // the request itself is wrong; Field says where
	CodeNotFound    Code = "not-found"    // no such checkpoint, gate or thread
	CodeExists      Code = "exists"       // the id is taken by other content
	CodeConflict    Code = "conflict"     // the log or the branch head moved on
	CodeFenced      Code = "fenced"       // a newer claim owns the thread
	CodeBusy        Code = "busy"         // somebody else is running the thread
	CodeDecided     Code = "decided"      // the gate has its one decision
	CodeCancelled   Code = "cancelled"    // the branch was cancelled
	CodeVoted       Code = "voted"        // this person has voted on the gate
	CodeExpired     Code = "expired"      // the gate's deadline passed
	CodeAmbiguous   Code = "ambiguous"    // several gates; name one
	CodeForbidden   Code = "forbidden"    // this actor may not do that
	CodeTooLarge    Code = "too-large"    // a size limit was exceeded
	CodeUnsupported Code = "unsupported"  // the store cannot do that
	CodeCorrupt     Code = "corrupt"      // stored bytes fail their hash or signature
	CodeSealed      Code = "sealed"       // encrypted, and the key at hand does not open it
	CodeReadOnly    Code = "read-only"    // poisoned by an earlier write error; reopen to verify
	CodeLocked      Code = "locked"       // another process has the store open for writing
	CodeFull        Code = "full"         // no space left
	CodeNewer       Code = "newer-schema" // written by a newer version
	CodeUnknown     Code = "unknown"      // the outcome of a write is not known; retrying is safe
	CodeUnavailable Code = "unavailable"  // the store cannot be reached, so nothing was read; try again
	CodeClosed      Code = "closed"       // used after Close
)

// Sentinels for errors.Is. They match every [Error] of their code.
var (
	ErrInvalid     = &Error{Code: CodeInvalid}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrExists      = &Error{Code: CodeExists}
	ErrConflict    = &Error{Code: CodeConflict}
	ErrFenced      = &Error{Code: CodeFenced}
	ErrBusy        = &Error{Code: CodeBusy}
	ErrDecided     = &Error{Code: CodeDecided}
	ErrCancelled   = &Error{Code: CodeCancelled}
	ErrVoted       = &Error{Code: CodeVoted}
	ErrExpired     = &Error{Code: CodeExpired}
	ErrAmbiguous   = &Error{Code: CodeAmbiguous}
	ErrForbidden   = &Error{Code: CodeForbidden}
	ErrTooLarge    = &Error{Code: CodeTooLarge}
	ErrUnsupported = &Error{Code: CodeUnsupported}
	ErrCorrupt     = &Error{Code: CodeCorrupt}
	ErrSealed      = &Error{Code: CodeSealed}
	ErrReadOnly    = &Error{Code: CodeReadOnly}
	ErrLocked      = &Error{Code: CodeLocked}
	ErrFull        = &Error{Code: CodeFull}
	ErrNewer       = &Error{Code: CodeNewer}
	ErrUnknown     = &Error{Code: CodeUnknown}
	ErrUnavailable = &Error{Code: CodeUnavailable}
	ErrClosed      = &Error{Code: CodeClosed}
)

// ErrWaiting is returned, perhaps wrapped, by a node, flow or handler that waits for a
// gate. It is not a failure: the runtime commits the question and frees the run's
// goroutines and lease.
var ErrWaiting = fmt.Errorf("posthouse: waiting for a decision")

// ErrOtherVersion is matched by the error of a [Program] if this version of it cannot go on
// with a thread that another version left. The program has written nothing: a process with
// a version that fits may go on.
var ErrOtherVersion = fmt.Errorf("posthouse: another version of the program left the thread")

// An Error is a failure that Posthouse itself reports.
type Error struct {
	Code    Code   `json:"code"`
	Field   string `json:"field,omitempty"` // the input at fault, for CodeInvalid and CodeTooLarge
	Message string `json:"message"`         // what happened, for a person
	Hint    string `json:"hint,omitempty"`  // what to do next

	// The winner, for errors about a race.
	Tail     *Position `json:"tail,omitempty"`     // CodeConflict, CodeFenced: where the log ends
	Head     ID        `json:"head,omitempty"`     // CodeConflict: the branch's head
	Gate     ID        `json:"gate,omitempty"`     // CodeConflict: the gate that now asks instead of the named one
	Lease    *Lease    `json:"lease,omitempty"`    // CodeFenced, CodeBusy: the holder
	Decision *Decision `json:"decision,omitempty"` // CodeDecided, CodeExpired: the first decision; CodeVoted: the vote
	Gates    []ID      `json:"gates,omitempty"`    // CodeAmbiguous: the candidates

	// CodeBusy, if the holder is another process: how long to wait for the thread. If that process
	// is gone, the thread is free by then for one that looks all the time.
	Wait time.Duration `json:"wait,omitempty"`

	Err error `json:"-"` // the cause, if it came from below
}

// Error returns the message, the cause and the hint on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("posthouse: ")
	switch {
	case e.Field != "" && e.Message != "":
		b.WriteString(e.Field + " " + e.Message)
	case e.Message != "":
		b.WriteString(e.Message)
	default:
		b.WriteString(string(e.Code))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches a sentinel: an [Error] with this code and no message.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Invalid returns an [ErrInvalid] that names the field. The message follows the field's
// name, for example "must be at most 5".
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns an [ErrNotFound] that names what was looked for and its id.
func NotFound(what string, id any) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no %s %q", what, fmt.Sprint(id))}
}

// Corrupt returns an [ErrCorrupt] with a message that names the place.
func Corrupt(format string, args ...any) *Error {
	return &Error{
		Code: CodeCorrupt, Message: fmt.Sprintf(format, args...),
		Hint: "run posthouse verify; docs/operations.md says how to get it back from a backup",
	}
}

// TooLarge returns an [ErrTooLarge] that names the field, its bytes and the limit, which no
// option raises.
func TooLarge(field string, have, limit int) *Error {
	return &Error{
		Code: CodeTooLarge, Field: field, Message: "has " + strconv.Itoa(have) + " bytes; the limit is " + strconv.Itoa(limit),
		Hint: "keep large values elsewhere and store a reference",
	}
}

// OverMaxState returns a [TooLarge] of a field that Options.MaxState limits.
func OverMaxState(field string, have, limit int) *Error {
	e := TooLarge(field, have, limit)
	e.Hint += ", or raise Options.MaxState (posthouse serve --max-state)"
	return e
}

// TooMany returns an [ErrTooLarge] that names the field, how many there would be and the
// limit.
func TooMany(field string, have, limit int, hint string) *Error {
	return &Error{Code: CodeTooLarge, Field: field, Message: "would be " + strconv.Itoa(have) + "; the limit is " + strconv.Itoa(limit), Hint: hint}
}

// NeedsGrant returns the error of an unapproved effect on the world, under
// Options.RequireGrants.
func NeedsGrant(step string) error {
	return &Error{
		Code: CodeForbidden, Field: "effect", Message: "step " + step + " acts on the world without a grant, and this ledger asks for one",
		Hint: "propose it (gate.Propose) and run it under the decision (gate.Act)",
	}
}

// The meaning of each code outside Go: HTTP status and exit code. docs/errors.md prints
// this table; a test compares them.
var errorTable = map[Code]struct{ status, exit int }{
	CodeInvalid:     {400, ExitUsage},
	CodeForbidden:   {403, ExitForbidden},
	CodeNotFound:    {404, ExitNotFound},
	CodeExists:      {409, ExitConflict},
	CodeConflict:    {409, ExitConflict},
	CodeFenced:      {409, ExitConflict},
	CodeBusy:        {409, ExitConflict},
	CodeDecided:     {409, ExitConflict},
	CodeVoted:       {409, ExitConflict},
	CodeAmbiguous:   {409, ExitConflict},
	CodeCancelled:   {409, ExitConflict},
	CodeExpired:     {410, ExitExpired},
	CodeTooLarge:    {413, ExitUsage},
	CodeCorrupt:     {500, ExitCorrupt},
	CodeNewer:       {500, ExitUnavailable},
	CodeUnsupported: {501, ExitFailure},
	CodeSealed:      {503, ExitUnavailable},
	CodeReadOnly:    {503, ExitUnavailable},
	CodeLocked:      {503, ExitUnavailable},
	CodeUnknown:     {503, ExitUnavailable},
	CodeUnavailable: {503, ExitUnavailable},
	CodeClosed:      {503, ExitUnavailable},
	CodeFull:        {507, ExitUnavailable},
}

// The exit codes of the command line.
const (
	ExitOK          = 0
	ExitFailure     = 1 // the work that was followed failed; or anything without a code of its own
	ExitUsage       = 2 // the command line or the input is wrong
	ExitNotFound    = 3
	ExitConflict    = 4 // something else won: exists, conflict, fenced, busy, decided, ambiguous, cancelled
	ExitExpired     = 5
	ExitForbidden   = 6 // not allowed, or no valid token
	ExitUnavailable = 7 // the store cannot be used now: locked, sealed, read-only, full, closed, unknown, unavailable, newer-schema
	ExitCorrupt     = 8 // damage, or verify found faults
)

// HTTPStatus returns the HTTP status that reports the code, and 500 for an unknown
// code.
func (c Code) HTTPStatus() int {
	if t, ok := errorTable[c]; ok {
		return t.status
	}
	return 500
}

// ExitCode returns the command line's exit code for the code, and [ExitFailure] for an
// unknown code.
func (c Code) ExitCode() int {
	if t, ok := errorTable[c]; ok {
		return t.exit
	}
	return ExitFailure
}
