package sqlitestore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/sqlschema"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The migrations that add what has to be filled: index terms from the log, gates, minutes
// and marks from the summaries.
const (
	termsSchema   = 2
	gatesSchema   = 3
	minutesSchema = 6
	marksSchema   = 7
)

func migrations() ([]sqlschema.Migration, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	return sqlschema.Load(dir)
}

// applicationID, "post", marks our databases in their header.
const applicationID = 0x706f7374

// schemaDB implements [sqlschema.DB].
type schemaDB struct{ c *db.Conn }

func (d schemaDB) Version(context.Context) (int, error) {
	n, err := d.c.Number("PRAGMA user_version")
	return int(n), err
}

func (d schemaDB) Update(_ context.Context, fn func() error) error { return d.c.Update(fn) }

func (d schemaDB) Exec(_ context.Context, script string) error { return d.c.Script(script) }

func (d schemaDB) SetVersion(_ context.Context, version int) error {
	return d.c.Script(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA application_id=%d", version, applicationID))
}

// fillMinutes writes the minutes of threads that were written without them.
func fillMinutes(ctx context.Context, c *db.Conn) error {
	return eachSummary(ctx, c, func(s *layout.Summary) error {
		return c.Run(qSetMinute, s.ID, int64(s.Info.Minute()))
	})
}

// eachSummary calls fill for each thread with a readable summary. The store's check
// reports the others.
func eachSummary(ctx context.Context, c *db.Conn, fill func(*layout.Summary) error) error {
	for id := int64(0); ; {
		var err error
		id, err = layout.NextThread(c, id)
		if err != nil || id == 0 {
			return cmp.Or(err, ctx.Err())
		}
		s, err := layout.SummaryAt(c, id)
		switch {
		case layout.Refused(err):
			continue
		case err != nil || ctx.Err() != nil:
			return cmp.Or(err, ctx.Err())
		case s == nil:
			continue
		}
		if err := fill(s); err != nil {
			return err
		}
	}
}

// schemaError wraps an error of a migration, and says if the database is newer or older.
func (s *Store) schemaError(err error) error {
	var newer *sqlschema.NewerError
	if errors.As(err, &newer) {
		return &posthouse.Error{
			Code: posthouse.CodeNewer,
			Message: fmt.Sprintf("%s has schema version %d; this program knows versions up to %d",
				s.path, newer.Database, newer.Program),
			Hint: "use the version of posthouse that wrote it, or a newer one; the file was not changed",
		}
	}
	if older, ok := errors.AsType[*sqlschema.OlderError](err); ok {
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: s.path + ": " + older.Error(),
			Hint: "the start of a server brings it up to date; before that, back it up with the version that wrote it",
		}
	}
	return s.wrap("bring the schema up to date", err)
}
