package app

import "os"

// headroomSize is how much garbage the collector allows beside twice the live heap, in
// bytes. Without it a process with a small heap collects every few thousand steps and
// scans the stack of every goroutine that waits for its commit, which takes a sixth
// of the CPU time.
const headroomSize = 32 << 20

// headroom returns memory that the garbage collector counts as live. It is never
// touched, so no page of it is resident. It is nil if the user has configured the
// collector. Main keeps it.
func headroom() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, headroomSize)
}
