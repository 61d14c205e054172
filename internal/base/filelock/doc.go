// Package filelock locks files against other processes.
//
// A lock is an open file:
//
//	f, err := filelock.Take(path + ".lock")
//	if errors.Is(err, filelock.ErrHeld) {
//		... somebody has it: err does not say who ...
//	}
//	defer f.Close() // gives it back
//
// The operating system gives the lock back when the process ends, however it ends.
// The file stays: the file of a killed process locks nothing. It must not be removed,
// or two processes could lock two files of one name. [TakeBeside] locks a file that
// has another purpose and is not removed while it is in use. The content that the
// holder writes into a lock file is for people.
package filelock
