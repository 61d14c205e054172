package sqlschema

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A DB is one database, as a store's driver gives access to it.
type DB interface {
	// Version returns the number of the last migration, 0 for a new database.
	Version(ctx context.Context) (int, error)
	// Update runs fn in a transaction that no other Update, in any process,
	// overlaps. It commits if fn returns nil and rolls back otherwise.
	Update(ctx context.Context, fn func() error) error
	// Exec runs a script of statements; called only within Update.
	Exec(ctx context.Context, script string) error
	// SetVersion stores the number; called only within Update.
	SetVersion(ctx context.Context, version int) error
}

// A Migration takes a schema from Version-1 to Version.
type Migration struct {
	Version int    // from 1
	Name    string // of the file
	Script  string

	// Then, if not nil, runs after the script, in its transaction. It does what SQL
	// cannot. Load does not set it; the store does.
	Then func(ctx context.Context) error
}

// A NewerError refuses a database that a newer program has migrated.
type NewerError struct {
	Database int // the schema version found
	Program  int // the newest version known here
}

// Error names both versions.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the database has schema version %d; this program knows versions up to %d", e.Database, e.Program)
}

// An OlderError refuses to read a database that lacks migrations.
type OlderError struct {
	Database int // the schema version found
	Program  int // the one that is wanted
}

// Error names both versions.
func (e *OlderError) Error() string {
	return fmt.Sprintf("the database has schema version %d; this program reads version %d", e.Database, e.Program)
}

// Load reads the migrations at the top of fsys: files named NNNN_words.sql,
// numbered from 1 without gaps. It fails on anything else that ends in .sql.
func Load(fsys fs.FS) ([]Migration, error) {
	names, err := fs.Glob(fsys, "*.sql") // in lexical order
	if err != nil {
		return nil, err
	}
	ms := make([]Migration, 0, len(names))
	for _, name := range names {
		digits, _, ok := strings.Cut(name, "_")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || len(digits) != 4 || n != len(ms)+1 {
			return nil, fmt.Errorf("sqlschema: %s: want a file named %04d_words.sql here", name, len(ms)+1)
		}
		script, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("sqlschema: %w", err)
		}
		ms = append(ms, Migration{Version: n, Name: name, Script: string(script)})
	}
	return ms, nil
}

// Check fails unless the database has exactly the schema of ms. A newer one is a
// [NewerError], one that lacks migrations an [OlderError]. It writes nothing.
func Check(ctx context.Context, db DB, ms []Migration) error {
	have, err := db.Version(ctx)
	switch {
	case err != nil:
		return err
	case have > len(ms):
		return &NewerError{Database: have, Program: len(ms)}
	case have < len(ms):
		return &OlderError{Database: have, Program: len(ms)}
	}
	return nil
}

// Migrate runs the migrations that the database does not have. It fails with a
// [NewerError], having changed nothing, if the database is newer than ms; any
// other failure leaves the migrations before the failed one done.
func Migrate(ctx context.Context, db DB, ms []Migration) error {
	for {
		have, err := db.Version(ctx)
		if err != nil {
			return err
		}
		if have > len(ms) {
			return &NewerError{Database: have, Program: len(ms)}
		}
		if have == len(ms) {
			return nil
		}
		if err := db.Update(ctx, func() error { return one(ctx, db, ms[have]) }); err != nil {
			return err
		}
	}
}

// one runs m unless somebody else did since the version was read.
func one(ctx context.Context, db DB, m Migration) error {
	have, err := db.Version(ctx)
	if err != nil || have >= m.Version {
		return err
	}
	if err := db.Exec(ctx, m.Script); err != nil {
		return fmt.Errorf("sqlschema: %s: %w", m.Name, err)
	}
	if m.Then != nil {
		if err := m.Then(ctx); err != nil {
			return fmt.Errorf("sqlschema: %s: %w", m.Name, err)
		}
	}
	return db.SetVersion(ctx, m.Version)
}
