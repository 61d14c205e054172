package posthouse

import (
	"context"
)

// A Program is anything that can go on with a thread from what is on record: a
// graph, a coordinator, a flow. Package runner keeps programs moving.
type Program interface {
	// Name is what [Header].Graph says in the program's checkpoints.
	Name() string

	// Advance goes on from the branch's head until it parks, ends or fails. A
	// program that fails leaves that in the log, by a checkpoint of status
	// failed; an error it returns besides is for people to read. It returns
	// [ErrBusy] if somebody else runs the thread.
	Advance(ctx context.Context, thread, branch string) error
}
