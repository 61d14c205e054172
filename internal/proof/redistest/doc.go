// Package redistest starts private Redis servers for tests, from the binary that is
// installed.
//
//	url := redistest.URL(t) // of a server that all tests of the binary share
//
// A server appends each write to a file and syncs it before it answers. It keeps that in a
// directory of its own below the directory for temporary files, listens on a free port of
// this machine, and ends with the process that started it. Where no binary is found the
// test is skipped, or fails if POSTHOUSE_REQUIRE_SERVICES is set. Where
// POSTHOUSE_TEST_REDIS has the URL of a server, tests share that one.
package redistest
