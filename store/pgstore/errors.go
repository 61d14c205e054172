package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
)

// wrap turns an error of the driver into one of ours. doing says what failed, such as
// "read thread \"a\"". It passes on errors that are ours already, and those of a context.
func (s *Store) wrap(doing string, err error) error {
	ours, isOurs := errors.AsType[*posthouse.Error](err)
	pg, isRefused := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case isOurs:
		return ours
	case errors.Is(err, puddle.ErrClosedPool), errors.Is(err, context.Canceled) && s.lifecycle.Closed(): // Close ends what connects
		return s.lifecycle.ClosedError()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isRefused:
		return s.refusal(doing, pg)
	}
	return s.unreachable(doing, err)
}

// refusal is the error for an answer of the server. Its transaction was rolled back.
func (s *Store) refusal(doing string, pg *pgconn.PgError) error {
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + s.where, Err: pg}
	switch pg.Code {
	case "53100":
		e.Code, e.Hint = posthouse.CodeFull, "nothing was written; free space on the server's disk and try again"
	case "25006":
		e.Hint = "the server takes no writes: it is a standby, or set to read only; connect to the primary"
	case "XX001", "XX002":
		e.Code, e.Hint = posthouse.CodeCorrupt, "stop writing, check the server's disk, and restore the database from a backup"
	case "28000", "28P01", "42501":
		e.Code, e.Hint = posthouse.CodeForbidden, "check user and password, and that the user may create and use schema "+s.opts.Schema
	case "3D000":
		e.Code, e.Hint = posthouse.CodeNotFound, "create the database, or name another one in the URL"
	case "54000", "54001", "22023":
		e.Code, e.Hint = posthouse.CodeTooLarge, "an entry must be smaller than 1 GB"
	case "26000", "42P05", "08P01":
		e.Hint = "behind a pooler of transactions set Options.Pooler, or add pooler=true to the URL"
	case "55P03":
		return s.unreachable(doing, pg) // the server's lock_timeout is over; later there may be no lock to wait for
	case "23505":
		e.Code, e.Hint = posthouse.CodeCorrupt, "the log has an entry behind its tail; run posthouse verify"
	default:
		if pg.SeverityUnlocalized != "ERROR" || pg.Code[:min(2, len(pg.Code))] == "57" {
			return s.unreachable(doing, pg)
		}
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

// errStandby is the cause of a refusal to connect to a standby. It may be about to become
// the primary.
var errStandby = errors.New("the server is in recovery")

// isLost reports whether the connection was lost or could not be had. Then another one may
// do.
func isLost(err error) bool {
	var ours *posthouse.Error
	return errors.As(err, &ours) && (away.Is(ours) || errors.Is(ours.Err, errStandby))
}

// isDemoted reports whether the server takes no writes. A connection from before a
// failover may lead to the old primary, while a new one finds the new one.
func isDemoted(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "25006"
}

// isRace reports whether the transaction lost a race and is to be run again. careful says
// that it is to look at ids first.
func isRace(err error) (race, careful bool) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false, false
	}
	ids := pg.Code == "23505" && pg.ConstraintName == "ids_pkey"
	return ids || pg.Code == "40001" || pg.Code == "40P01", ids
}

func (s *Store) poison(err error) {
	var ours *posthouse.Error
	if errors.As(err, &ours) && ours.Code == posthouse.CodeCorrupt && ours.Err != nil {
		s.lifecycle.Poison(ours)
	}
}
