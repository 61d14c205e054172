// Package origins holds twins of the tests of the systems that Posthouse
// replaces, and tests of the semantics their users rely on. Each is named after
// what its origin promises; where that is wrong there, the test says what is
// right here.
//
// It holds tests only.
package origins
