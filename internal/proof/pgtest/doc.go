// Package pgtest starts private Postgres servers for tests, from the binaries that are
// installed.
//
//	url := pgtest.URL(t) // of a server that all tests of the binary share
//
// A server keeps its data in a directory of its own below the directory for temporary
// files, listens on a socket there and nowhere else, and ends with the process that
// started it. As root it runs as the user postgres, or nobody. Where no binaries are
// found the test is skipped, or fails if POSTHOUSE_REQUIRE_SERVICES is set. Where
// POSTHOUSE_TEST_POSTGRES has the URL of a server, tests share that one.
package pgtest
