// Package sqlschema migrates a SQL database to the schema that a program knows.
//
// A schema is a row of numbered migrations, files named 0001_what.sql that are
// embedded in the program. The database remembers the number of the last one
// it has. [Migrate] runs the missing ones in order, each in a transaction of
// its own together with the new number, so that being killed at any point
// leaves a whole number of them done and starting again finishes the rest:
//
//	migrations, err := sqlschema.Load(files)
//	...
//	err = sqlschema.Migrate(ctx, db, migrations)
//
// Many programs may start at once: each migration is run by the one that gets
// the transaction first, the others find it done. A database with a higher
// number than the program knows was written by a newer one; it is refused with
// a [NewerError] and not touched.
//
// A published migration is never edited; a change is a new file.
//
// The package knows no driver: a store hands in a [DB] of four methods.
package sqlschema
