package sqlitestore

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// read runs fn on a connection in a read transaction.
func (s *Store) read(ctx context.Context, doing string, fn func(*db.Conn) error) error {
	return s.lend(ctx, doing, func(c *db.Conn) error { return c.Snapshot(fn) })
}

// lend runs fn on a connection. That is enough for a single statement, which sees one
// state of the database.
func (s *Store) lend(ctx context.Context, doing string, fn func(*db.Conn) error) error {
	if s.lifecycle.Closed() {
		return s.lifecycle.ClosedError()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.readers.Get(ctx)
	if errors.Is(err, db.ErrClosed) {
		return s.lifecycle.ClosedError()
	}
	if err != nil {
		return s.wrap(doing, err)
	}
	err = fn(c)
	s.readers.Put(c, err != nil && !layout.Refused(err) && ctx.Err() == nil)
	return s.wrap(doing, err)
}
