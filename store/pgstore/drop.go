package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Drop removes the schema of the store with everything in it, for good. It is for
// namespaces made to be thrown away: tests and checks. The store must be closed afterwards.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	return s.lend(ctx, "drop the store", func(ctx context.Context, c *conn) error {
		_, err := c.Conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{s.opts.Schema}.Sanitize()+" CASCADE")
		return err
	})
}
