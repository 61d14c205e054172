package sqlitestore

import (
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

// The migrations that add tables to fill: index terms from the log, gates from the
// summaries.
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

// schemaError wraps an error of a migration, and says if the database is newer.
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
