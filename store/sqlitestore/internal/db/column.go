package db

import "zombiezen.com/go/sqlite"

// Bytes returns a copy of a column, nil for NULL.
func Bytes(stmt *sqlite.Stmt, col int) []byte {
	n := stmt.ColumnLen(col)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	stmt.ColumnBytes(col, b)
	return b
}

// CopyBytes copies a column into buf, which it grows if needed, and returns the bytes.
func CopyBytes(stmt *sqlite.Stmt, col int, buf []byte) []byte {
	buf = buf[:cap(buf)]
	n := stmt.ColumnBytes(col, buf)
	if n == len(buf) { // perhaps not all of it
		n = stmt.ColumnLen(col)
		if n > len(buf) {
			buf = make([]byte, 2*n)
			n = stmt.ColumnBytes(col, buf)
		}
	}
	return buf[:n]
}
