// Package check compares rows, summaries and indexes with the logs that they are derived
// from. It only reads.
//
// It may import the root package, internal/sqlschema, the packages db, layout and
// lists beside it and the SQLite driver.
package check
