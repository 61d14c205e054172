// Package db has the connections to a SQLite database: statements prepared once,
// their rows as iterators, results by pages, and a pool of connections that read.
// It knows no table.
package db
