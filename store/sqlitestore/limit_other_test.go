//go:build !unix

package sqlitestore_test

import "errors"

// limitFileSize has no counterpart here; the test that needs it runs on Unix.
func limitFileSize(uint64) error { return errors.New("file sizes cannot be limited on this system") }
