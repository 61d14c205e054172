// Package check compares what a database derives with the log it derives it from:
// rows, summaries and indexes. It reads only.
//
// It may import the root package, internal/sqlschema, the packages db, layout and
// lists beside it and the SQLite driver.
package check
