// Package doctor has the command doctor, which looks for what keeps a server from starting or a command
// from working, and says what to do.
//
// Each check is a method of an examination in the file of its subject. It adds a [Finding] for what is
// as it should be, too, so that a reader sees what was looked at. A check changes nothing.
package doctor
