package engine

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
)

// A PanicError is a panic in a program's code, as an error.
type PanicError struct {
	Value any    // what was passed to panic
	Stack string // where, from the panicking function outwards; at most 4,000 bytes
}

// Error returns the panic's value and the line that panicked.
func (e *PanicError) Error() string {
	if _, line, ok := strings.Cut(e.Stack, "\n\t"); ok {
		line, _, _ = strings.Cut(line, "\n")
		return fmt.Sprintf("panic: %v at %s", e.Value, line)
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Panicked marks a panic: code that panics has given no word, whatever the value says.
func (e *PanicError) Panicked() {}

// maxStack bounds what a panic leaves in logs and failed checkpoints.
const maxStack = 4000

// Guard runs fn and turns a panic into a [PanicError].
func Guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: trimStack(debug.Stack())}
		}
	}()
	return fn()
}

// trimStack cuts the frames of the recovery above the panic and those of Guard
// and its callers below the program's.
func trimStack(stack []byte) string {
	if i := bytes.LastIndex(stack, []byte("\npanic(")); i >= 0 {
		stack = stack[i+1:]
		for range 2 { // panic's own function and file
			_, stack, _ = bytes.Cut(stack, []byte("\n"))
		}
	}
	if i := bytes.Index(stack, []byte("/internal/engine.Guard(")); i >= 0 {
		stack = stack[:bytes.LastIndexByte(stack[:i], '\n')+1]
	}
	s := strings.TrimRight(string(stack), "\n")
	if len(s) > maxStack {
		s = s[:strings.LastIndexByte(s[:maxStack], '\n')]
	}
	return s
}
