// Package service starts the servers that tests need, as processes that end with the test.
//
//	p := &service.Process{Start: command, Ready: ping}
//	err := p.Run() // returns once Ready is true
//
// It has the parts that all servers share: a server for all tests of a binary, the skip
// where no server is installed, and the process with its end. Packages pgtest and
// redistest hold the differences.
package service
