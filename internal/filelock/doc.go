// Package filelock keeps other processes out for as long as this one lives.
//
// A lock is an open file:
//
//	f, err := filelock.Take(path + ".lock")
//	if errors.Is(err, filelock.ErrHeld) {
//		... somebody has it: err does not say who ...
//	}
//	defer f.Close() // gives it back
//
// The operating system gives it back, too, when the process ends, however it
// ends. So the file itself says nothing: it stays where it is, and one that a
// killed process left behind is in nobody's way. It must not be removed, or two
// could hold locks on two files of one name; TakeBeside locks, besides, a file that
// nobody removes while it is in use. What its holder writes into it is
// for people.
//
// It imports the standard library only.
package filelock
