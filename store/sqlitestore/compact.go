package sqlitestore

import (
	"cmp"
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Compact implements [posthouse.Compacter]. It compresses the bodies of neighbouring
// entries together, block by block, each in one small transaction between other writes.
// Then it rewrites the file without its free space. Only that holds up writers, for about
// as long as copying the file takes; readers go on throughout. If it is killed, some
// blocks are compressed and others not.
func (s *Store) Compact(ctx context.Context) (done posthouse.Compacted, err error) {
	if err := s.submit(ctx, "compact", request{alone: foldLog}); err != nil {
		return done, err
	}
	done.Before = size(s.path)
	err = s.compactThreads(ctx, &done)
	if err == nil {
		err = s.submit(ctx, "compact", request{alone: func(w *writer) error { return s.vacuum(ctx, w) }})
	}
	done.After = size(s.path)
	return done, err
}

func (s *Store) compactThreads(ctx context.Context, done *posthouse.Compacted) error {
	for thread := int64(0); ; {
		err := s.read(ctx, "compact", func(c *db.Conn) (err error) {
			thread, err = layout.NextThread(c, thread)
			return err
		})
		if err != nil || thread == 0 {
			return err
		}
		if err := s.compactThread(ctx, thread, done); err != nil {
			return err
		}
	}
}

// foldLog moves the write-ahead log into the database, as far as readers permit.
func foldLog(w *writer) error {
	_, err := w.Number("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (s *Store) vacuum(ctx context.Context, w *writer) error {
	w.SetInterrupt(ctx.Done())
	err := w.Script("VACUUM")
	w.SetInterrupt(nil)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	return foldLog(w)
}

// compactThread packs each block of a thread that has bytes outside a pack.
func (s *Store) compactThread(ctx context.Context, thread int64, done *posthouse.Compacted) error {
	for seq := uint64(0); ; {
		var found bool
		err := s.read(ctx, "compact", func(c *db.Conn) (err error) {
			from := seq
			found, err = c.Row(qNextInline, func(stmt *sqlite.Stmt) { seq = uint64(stmt.ColumnInt64(0)) }, thread, seq)
			if err == nil && seq < from {
				err = layout.OutOfOrder("entries")
			}
			return err
		})
		if err != nil || !found {
			return err
		}
		bodies := 0
		if err := s.submit(ctx, "compact", request{do: func(w *writer) (err error) {
			bodies, err = s.packs.compact(w, thread, seq)
			return err
		}}); err != nil {
			return err
		}
		done.Bodies += bodies
		seq = (seq/blockSize + 1) * blockSize
	}
}

// minSaving is how many bytes packing a block must save to be worth a rewrite.
const minSaving = 64

// compact packs one block, if that saves enough, and returns how many bodies it
// rewrote.
func (all *packs) compact(w *writer, thread int64, seq uint64) (bodies int, err error) {
	rows, err := all.block(w, thread, seq)
	if err != nil {
		return 0, err
	}
	p, err := all.plan(w, rows)
	if err != nil || p.before-p.after < minSaving {
		return 0, err
	}
	w.wrote = true
	for _, n := range p.packs {
		bodies += len(n.rows)
	}
	return bodies, all.repack(w, p)
}
