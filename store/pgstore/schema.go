package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/sqlschema"
	"github.com/posthouse/posthouse/lists"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The migrations that add what is filled from the summaries.
const (
	minutesSchema = 3
	marksSchema   = 4
)

func migrations() ([]sqlschema.Migration, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	return sqlschema.Load(dir)
}

// migrate brings the schema up to date. A store that is opened for reading only checks it.
func (s *Store) migrate(ctx context.Context) error {
	ms, err := migrations()
	if err != nil {
		return err
	}
	return s.lend(ctx, "bring the schema up to date", func(ctx context.Context, c *conn) error {
		ms[minutesSchema-1].Then, ms[marksSchema-1].Then = c.fillMinutes, c.fillMarks
		db := &schemaDB{c: c}
		if s.opts.ReadOnly {
			have, err := db.Version(ctx)
			if err == nil && have == 0 {
				err = posthouse.NotFound("store: no schema in "+s.where+" is", s.opts.Schema)
			}
			if err != nil {
				return err
			}
			return s.schemaError(sqlschema.Check(ctx, db, ms))
		}
		return s.schemaError(sqlschema.Migrate(ctx, db, ms))
	})
}

func (s *Store) schemaError(err error) error {
	var newer *sqlschema.NewerError
	if !errors.As(err, &newer) {
		return err
	}
	return &posthouse.Error{
		Code: posthouse.CodeNewer,
		Message: fmt.Sprintf("schema %s of %s has version %d; this program knows versions up to %d",
			s.opts.Schema, s.where, newer.Database, newer.Program),
		Hint: "use the version of posthouse that changed it, or a newer one; nothing was changed",
	}
}

// A schemaDB implements [sqlschema.DB] on one connection.
type schemaDB struct {
	c  *conn
	tx pgx.Tx // within Update
}

// Version reads the catalog as a table: a look-up by name may answer from before the
// transaction had its lock.
func (d *schemaDB) Version(ctx context.Context) (version int, err error) {
	const exists = `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'meta')`
	var there bool
	_, err = d.c.one(ctx, exists, []any{d.c.s.opts.Schema}, &there)
	if err != nil || !there {
		return 0, err
	}
	_, err = d.c.one(ctx, "SELECT version FROM posthouse.meta", nil, &version)
	return version, err
}

// Update holds a lock that is of this schema in this database.
func (d *schemaDB) Update(ctx context.Context, fn func() error) error {
	return pgx.BeginFunc(ctx, d.c, func(tx pgx.Tx) error {
		d.tx = tx
		if err := d.c.s.lock(ctx, tx); err != nil {
			return err
		}
		return fn()
	})
}

// lock waits until no other transaction changes the schema.
func (s *Store) lock(ctx context.Context, tx pgx.Tx) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte("posthouse schema " + s.opts.Schema))
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(h.Sum64()))
	return err
}

func (d *schemaDB) Exec(ctx context.Context, script string) error {
	var there bool
	name := d.c.s.opts.Schema
	if err := d.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", name).Scan(&there); err != nil {
		return err
	}
	if !there { // asking for it if it is there needs the right to make one
		script = "CREATE SCHEMA " + pgx.Identifier{name}.Sanitize() + ";\n" + script
	}
	_, err := d.tx.Conn().PgConn().Exec(ctx, d.c.s.inSchema(script)).ReadAll()
	return err
}

func (d *schemaDB) SetVersion(ctx context.Context, version int) error {
	tag, err := d.tx.Exec(ctx, d.c.s.sql("UPDATE posthouse.meta SET version = $1"), version)
	if err == nil && tag.RowsAffected() == 0 {
		_, err = d.tx.Exec(ctx, d.c.s.sql("INSERT INTO posthouse.meta (version) VALUES ($1)"), version)
	}
	return err
}

// fillMinutes writes the minutes of threads that were written without them. A summary that
// cannot be read is left to Check, which reports it.
func (c *conn) fillMinutes(ctx context.Context) error {
	const next = "SELECT t.id, t.state FROM posthouse.threads t WHERE t.id > $1 ORDER BY t.id LIMIT 512"
	const fill = "UPDATE posthouse.threads t SET minute = u.minute FROM unnest($1::bigint[], $2::bigint[]) AS u(id, minute) WHERE t.id = u.id"
	for last := int64(0); ; {
		var ids, minutes []int64
		read := 0
		err := c.each(ctx, next, []any{last}, func(rows pgx.Rows) error {
			var state []byte
			read++
			if err := rows.Scan(&last, &state); err != nil {
				return err
			}
			if info, err := readState(state); err == nil {
				ids, minutes = append(ids, last), append(minutes, int64(info.Minute()))
			}
			return nil
		})
		if err != nil || read == 0 {
			return err
		}
		if _, err := c.Exec(ctx, c.s.sql(fill), ids, minutes); err != nil {
			return err
		}
	}
}

// fillMarks completes the summaries that were written without labels, and writes the marks. It
// leaves a summary that cannot be read to Check.
func (c *conn) fillMarks(ctx context.Context) error {
	const next = "SELECT t.id, t.name, t.state FROM posthouse.threads t WHERE t.id > $1 ORDER BY t.id LIMIT 512"
	const logs = "SELECT e.thread, e.seq, e.header FROM posthouse.entries e WHERE e.thread = ANY ($1::bigint[]) ORDER BY e.thread, e.seq"
	const fill = "UPDATE posthouse.threads t SET state = u.state, marks = u.marks FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS u(id, state, marks) WHERE t.id = u.id"
	for last := int64(0); ; {
		var ids []int64
		infos, read := map[int64]*posthouse.ThreadInfo{}, 0
		err := c.each(ctx, next, []any{last}, func(rows pgx.Rows) error {
			var name, state []byte
			read++
			if err := rows.Scan(&last, &name, &state); err != nil {
				return err
			}
			if info, err := readState(state); err == nil && info.Thread == string(name) {
				ids, infos[last] = append(ids, last), info
			}
			return nil
		})
		if err != nil || read == 0 {
			return err
		}
		err = c.each(ctx, logs, []any{ids}, func(rows pgx.Rows) error {
			var id, seq int64
			e := &posthouse.Entry{}
			if err := rows.Scan(&id, &seq, &e.Header); err != nil {
				return err
			}
			info := infos[id]
			e.Seq = uint64(seq)
			if !info.Dated || e.Seq < info.First {
				return nil
			}
			e.Thread, e.Generation = info.Thread, info.Generation
			records, err := e.Records()
			if err == nil {
				info.Recall(e.Seq, records)
			}
			return nil // a header that does not decode is left to Check
		})
		if err != nil {
			return err
		}
		var states, marks [][]byte
		for _, id := range ids {
			infos[id].Dated = false
			state, err := appendState(nil, infos[id])
			if err != nil {
				return err
			}
			states, marks = append(states, state), append(marks, lists.AppendMarks(nil, infos[id]))
		}
		if _, err := c.Exec(ctx, c.s.sql(fill), ids, states, marks); err != nil {
			return err
		}
	}
}

// rewind sets the numbers of transactions back if the server's started over. That happens
// when a dump is read into another server. Cursors from before are then refused.
func (s *Store) rewind(ctx context.Context) error {
	const ahead = "SELECT coalesce(max(watch), 0) >= txid_snapshot_xmax(txid_current_snapshot()) FROM posthouse.entries"
	return s.lend(ctx, "look at the newest entry", func(ctx context.Context, c *conn) error {
		var set bool
		if _, err := c.one(ctx, ahead, nil, &set); err != nil || !set || s.opts.ReadOnly {
			return errors.Join(err, c.readEra(ctx))
		}
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if err := s.lock(ctx, tx); err != nil {
				return err
			}
			for _, sql := range []string{
				"LOCK TABLE posthouse.threads, posthouse.entries",
				"UPDATE posthouse.meta SET era = era + 1 WHERE (" + ahead + ")",
				"UPDATE posthouse.threads SET watch = 0 WHERE (" + ahead + ")",
				"UPDATE posthouse.entries SET watch = 0 WHERE (" + ahead + ")",
			} {
				if _, err := tx.Exec(ctx, s.sql(sql)); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, c.readEra(ctx))
	})
}

func (c *conn) readEra(ctx context.Context) error {
	_, err := c.one(ctx, "SELECT era FROM posthouse.meta", nil, &c.s.era)
	return err
}
