package pgstore

import (
	"context"

	"github.com/posthouse/posthouse/internal/base/groupcommit"
)

type baseRow struct {
	thread, seq int64
	data        []byte
}

// Baseline makes a bare table beside the store's, and returns what inserts a row into it
// durably, in one round trip. Rows that arrive together share a statement. It is what
// posthouse bench compares the store with.
func (s *Store) Baseline(ctx context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error) {
	err := s.lend(ctx, "make a baseline", func(ctx context.Context, c *conn) error {
		_, err := c.Exec(ctx, s.sql("CREATE TABLE IF NOT EXISTS posthouse.baseline (thread bigint, seq bigint, data bytea, PRIMARY KEY (thread, seq))"))
		return err
	})
	if err != nil {
		return nil, err
	}
	queue := groupcommit.New(1024, func(baseRow) int { return 1 }, func(group []*groupcommit.Call[baseRow]) {
		var threads, seqs []int64
		var data [][]byte
		for _, c := range group {
			threads, seqs, data = append(threads, c.Work.thread), append(seqs, c.Work.seq), append(data, c.Work.data)
		}
		err := s.lend(context.WithoutCancel(ctx), "write the baseline", func(ctx context.Context, c *conn) error {
			_, err := c.Exec(ctx, s.sql("INSERT INTO posthouse.baseline SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"), threads, seqs, data)
			return err
		})
		for _, c := range group {
			c.Err = err
		}
	})
	return func(ctx context.Context, thread, seq int64, data []byte) error {
		return queue.Do(ctx, baseRow{thread, seq, data})
	}, nil
}
