// Package service starts the servers that tests need, as processes that end with the test.
//
//	p := &service.Process{Start: command, Ready: ping}
//	err := p.Run() // returns once Ready is true
//
// What is the same for every server is here: a server that all tests of a binary share,
// the skip where no server is installed, and the process with its end. Packages pgtest and
// redistest hold what differs.
package service
