package natsstore

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
)

// Codes of a server's answers that the client has no name for.
const (
	codeAccountFull  jetstream.ErrorCode = 10002
	codeInsufficient jetstream.ErrorCode = 10023
	codeStorageFull  jetstream.ErrorCode = 10047

	codeStoreFailed jetstream.ErrorCode = 10077
	codeStreamFull  jetstream.ErrorCode = 10122
)

// wrap turns an error of the client or server into one of ours. doing says what failed,
// such as "read thread \"a\"". It passes on errors that are ours already.
func (s *streams) wrap(doing string, err error) error {
	var ours *posthouse.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return err
	case s.lifecycle.Closed():
		return s.lifecycle.ClosedError()
	case errors.Is(err, context.Canceled):
		return err
	}
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + s.where, Err: err}
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		return s.refusal(e, api)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrPermissionViolation):
		e.Code, e.Hint = posthouse.CodeForbidden, "check user and password, and that the user may use the streams that the package's documentation names"
	default:
		e.Code, e.Message = posthouse.CodeUnknown, "cannot "+doing+": the server "+s.where+" does not answer"
		e.Hint = "try again once the server can be reached: repeating is safe"
	}
	return e
}

// refusal is the error for an answer of the server. Nothing was written.
func (s *streams) refusal(e *posthouse.Error, api *jetstream.APIError) error {
	switch {
	case isFull(api):
		e.Code, e.Hint = posthouse.CodeFull, "nothing was written; give the streams, the account or the server more room and try again, or remove threads, which needs a little room itself"
	case api.ErrorCode == codeStoreFailed:
		e.Hint = "look into the server's log and at its disk, then open the store again"
		s.lifecycle.Poison(e)
	case api.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		e.Code, e.Hint = posthouse.CodeCorrupt, "data loss detected: a stream of the store is gone; restore the server's files from a backup"
	case api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabled, api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		e.Code, e.Hint = posthouse.CodeUnsupported, "enable JetStream on the server and for the account"
	case api.Code == 503, api.Code == 408, api.ErrorCode == streamOffline:
		e.Code, e.Hint = posthouse.CodeUnknown, "try again: repeating is safe"
	default:
		e.Hint = "look into the server's log"
	}
	return e
}

// isFull reports whether an answer says that there is no room. For a stream that has reached
// a limit of its own the server uses the code of a disk that fails, and only the text differs.
func isFull(api *jetstream.APIError) bool {
	switch api.ErrorCode {
	case codeAccountFull, codeInsufficient, codeStorageFull, codeStreamFull:
		return true
	case codeStoreFailed:
		return strings.HasPrefix(api.Description, "maximum bytes exceeded") || strings.HasPrefix(api.Description, "maximum messages exceeded")
	}
	return false
}

// isLost reports whether an error says that the server did not answer, so that asking
// again may do.
func isLost(err error) bool { return away.Is(err) }

// hasMoved reports whether a conditional message was refused for its condition.
func hasMoved(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// lost is the error for messages that a server acknowledged and does not have any more.
func (s *streams) lost(format string, args ...any) error {
	e := posthouse.Corrupt(format, args...)
	e.Message = "data loss detected in " + s.where + ": " + e.Message
	e.Hint = "restore the server's files from a backup; its log may say what it dropped"
	return e
}

// streamOffline is the error of a server that does not reach enough of a stream's copies, or
// has not loaded its own yet.
const streamOffline = 10118
