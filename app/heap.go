package app

import "os"

// headroomSize is what the collector lets pile up beside twice what is in use.
// Without it a process with few megabytes in use collects every few thousand
// steps, and looks through the stack of every thread that waits for its commit:
// a sixth of the processor's time.
const headroomSize = 32 << 20

// headroom returns memory that the garbage collector counts as in use. Nobody
// touches it, so no page of it is resident. It is nil if the user has set how the
// collector works. Main keeps it.
func headroom() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, headroomSize)
}
