package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/redisstore/internal/redis"
)

// wrap turns an error of the driver into one of ours. doing says what failed, such as
// "read thread \"a\"". It passes on errors that are ours already.
func (s *Store) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	var ours *posthouse.Error
	if errors.As(err, &ours) {
		return ours
	}
	var refused *redis.Error
	if errors.As(err, &refused) {
		return s.refusal(doing, refused)
	}
	if s.lifecycle.Closed() && errors.Is(err, redis.ErrClosed) {
		return s.lifecycle.ClosedError()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, redis.ErrKind), errors.Is(err, redis.ErrNil):
		e := posthouse.Corrupt("cannot %s in %s: something else writes keys with the store's prefix", doing, s.where)
		e.Err = err
		return e
	}
	return s.unreachable(doing, err)
}

// refusal is the error for an answer of the server. Nothing was written.
func (s *Store) refusal(doing string, refused *redis.Error) error {
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + s.where, Err: refused}
	code, _, _ := strings.Cut(refused.Text, " ")
	switch code {
	case "OOM":
		e.Code, e.Hint = posthouse.CodeFull, "nothing was written; remove threads or raise the server's maxmemory, and try again"
	case "MISCONF":
		e.Hint = "the server cannot write to its disk: free space there and look into its log; it takes writes again by itself"
	case "READONLY":
		e.Hint = "the server is a replica; connect to the primary"
	case "NOREPLICAS":
		e.Hint = "the server has fewer replicas than min-replicas-to-write asks for"
	case "NOAUTH", "WRONGPASS", "NOPERM":
		e.Code, e.Hint = posthouse.CodeForbidden, "check user and password, and that the user may use the commands and keys that the package's documentation names"
	case "WRONGTYPE":
		e.Code, e.Hint = posthouse.CodeCorrupt, "something else writes keys with the store's prefix; choose another prefix"
	case "MOVED", "CROSSSLOT", "CLUSTERDOWN":
		e.Code, e.Hint = posthouse.CodeUnsupported, "the server belongs to a cluster; use one that does not"
	case "LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN":
		return s.unreachable(doing, refused)
	default:
		e.Hint = "look into the server's log"
	}
	return e
}

// unreachable is the error for a connection that cannot be had or was lost. The
// outcome of a write is unknown then.
func (s *Store) unreachable(doing string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "cannot " + doing + ": the server " + s.where + " does not answer", Err: err,
		Hint: "try again once the server can be reached: repeating is safe",
	}
}

// isLost reports whether an error says that the server did not answer, so that asking
// again may do.
func isLost(err error) bool { return away.Is(err) }

// isRefusal reports whether the server refused a write for now.
func isRefusal(err error) bool {
	return errors.Is(err, posthouse.ErrFull) || errors.Is(err, posthouse.ErrReadOnly) || errors.Is(err, posthouse.ErrForbidden)
}
