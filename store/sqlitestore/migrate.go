package sqlitestore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/sqlschema"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The migrations whose tables are filled: that of terms from the log, that of
// gates from the summaries.
const (
	termsSchema = 2
	gatesSchema = 3
)

func migrations() ([]sqlschema.Migration, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	return sqlschema.Load(dir)
}

// newestSchema returns the number of the last migration: they are numbered
// from 1 without gaps.
func newestSchema() (int, error) {
	files, err := migrationFiles.ReadDir("migrations")
	return len(files), err
}

// applicationID marks our databases in their header: "post".
const applicationID = 0x706f7374

// schemaDB is the database as sqlschema sees it.
type schemaDB struct{ c *db.Conn }

func (d schemaDB) Version(context.Context) (int, error) {
	n, err := d.c.Number("PRAGMA user_version")
	return int(n), err
}

func (d schemaDB) Update(_ context.Context, fn func() error) error {
	if err := d.c.Run(db.Begin); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = d.c.Run(db.Commit)
	}
	if err != nil && !d.c.AutocommitEnabled() {
		err = cmp.Or(err, d.c.Run(db.Rollback))
	}
	return err
}

func (d schemaDB) Exec(_ context.Context, script string) error { return d.c.Script(script) }

func (d schemaDB) SetVersion(_ context.Context, version int) error {
	return d.c.Script(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA application_id=%d", version, applicationID))
}

// schemaError says in our words that the database is newer.
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
	return s.wrap("bring the schema up to date", err)
}
