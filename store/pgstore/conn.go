package pgstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/store/internal/away"
)

// A conn runs statements of this package. Its tables are named posthouse.x.
type conn struct {
	*pgxpool.Conn
	s *Store
}

// sql puts the name of the store's schema into a statement.
func (s *Store) sql(text string) string {
	if s.opts.Schema == "posthouse" {
		return text
	}
	if with, ok := s.texts.Load(text); ok {
		return with.(string)
	}
	with := s.inSchema(text)
	s.texts.Store(text, with)
	return with
}

func (s *Store) inSchema(text string) string {
	return strings.ReplaceAll(text, "posthouse.", pgx.Identifier{s.opts.Schema}.Sanitize()+".")
}

// prepare sets up a new connection. Tables are only ever read by an index: a plan that was
// made while a table was small would otherwise scan it once it is large.
func (s *Store) prepare(ctx context.Context, c *pgx.Conn) error {
	_, err := c.PgConn().Exec(ctx, `SET enable_seqscan = off; SET jit = off; SET default_transaction_isolation = 'read committed'`).ReadAll()
	if err != nil {
		return err
	}
	return s.judge(ctx, c)
}

// judge refuses a server that would lose acknowledged writes or refuse all writes.
func (s *Store) judge(ctx context.Context, c *pgx.Conn) error {
	_, err := s.judged(ctx, c)
	return err
}

// judged is judge, and returns the settings that are weak and accepted.
func (s *Store) judged(ctx context.Context, c *pgx.Conn) (weak []string, err error) {
	is, err := askServer(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case is.version < 120000:
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "the server " + s.where + " is older than Postgres 12", Hint: "use a newer server",
		}
	case s.opts.ReadOnly:
		return nil, nil
	case is.standby:
		return nil, &posthouse.Error{
			Code: posthouse.CodeReadOnly, Message: "the server " + s.where + " is a standby, which takes no writes", Err: errStandby,
			Hint: "connect to the primary: name both hosts in the URL, with target_session_attrs=read-write",
		}
	}
	weak = is.weak()
	if len(weak) > 0 && !s.opts.AllowWeak {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "the server " + s.where + " loses acknowledged writes: " + strings.Join(weak, "; "),
			Hint: "turn it on for this database or user, or accept it: Options.AllowWeak, --allow-weak-store on the command line",
		}
	}
	return weak, nil
}

// lend calls fn with a connection, once.
func (s *Store) lend(ctx context.Context, doing string, fn func(context.Context, *conn) error) error {
	if err := s.lifecycle.Usable(ctx); err != nil {
		return err
	}
	c, err := s.pool.Acquire(ctx)
	if err == nil {
		defer c.Release()
		err = fn(ctx, &conn{c, s})
	}
	err = s.wrap(doing, err)
	if ctx.Err() == nil {
		return s.overdue(doing, err) // it took too long to connect
	}
	return err
}

// read is repeat for calls that write nothing.
func (s *Store) read(ctx context.Context, doing string, fn func(context.Context, *conn) error) error {
	return away.Read(s.repeat(ctx, doing, fn))
}

// repeat calls fn with a connection, and again with another while that is lost. fn must
// start from the beginning each time.
func (s *Store) repeat(ctx context.Context, doing string, fn func(context.Context, *conn) error) error {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	for wait := newRetries(); ; {
		err := s.lend(within, doing, fn)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !s.lifecycle.Closed():
			return ctx.Err()
		case !isLost(err) || !wait.Next(within):
			return s.overdue(doing, err)
		}
		s.opts.Logger.Warn("posthouse: reading again from Postgres", "store", s.where, "err", err)
	}
}

// overdue is err unless that is the end of our own Timeout.
func (s *Store) overdue(doing string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !isOurs(err) {
		return s.unreachable(doing, err)
	}
	return err
}

func isOurs(err error) bool {
	var e *posthouse.Error
	return errors.As(err, &e)
}

// newRetries returns waits for a server that may be back soon.
func newRetries() backoff.Retries {
	return backoff.NewRetries(5*time.Millisecond, 500*time.Millisecond)
}

// one scans the only row of a query; it reports whether there is one.
func (c *conn) one(ctx context.Context, sql string, args []any, into ...any) (bool, error) {
	err := c.QueryRow(ctx, c.s.sql(sql), args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls fn for each row of a query. fn may keep what it scans.
func (c *conn) each(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	rows, err := c.Query(ctx, c.s.sql(sql), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
