package filelock

import (
	"bytes"
	"fmt"
	"os"
)

// nameSize is the length of what [Name] writes; the text has at most 57 bytes.
const nameSize = 64

// Name writes into a lock file which process holds it, and since which start of the
// machine.
//
// The length is fixed, so that this overwrites the last owner. Truncating the file first
// would make the file system flush it when it is closed.
func Name(l *Lock) error {
	owner := fmt.Sprintf("%-*s\n", nameSize-1, fmt.Sprintf("pid %d\nboot %s", os.Getpid(), bootID()))
	_, err := l.WriteAt([]byte(owner), 0)
	return err
}

// Holder says who holds a lock file that was given a name, for messages: "process 1234",
// or "another process" where that is not known.
func Holder(path string) string {
	if b, err := os.ReadFile(path); err == nil {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		if pid, ok := bytes.CutPrefix(line, []byte("pid ")); ok && len(pid) < 20 {
			return fmt.Sprintf("process %s", pid)
		}
	}
	return "another process"
}
