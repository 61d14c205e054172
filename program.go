package posthouse

import "context"

// A Program can continue a thread from what is on record: a graph, a coordinator, a
// flow. Package runner keeps programs moving.
type Program interface {
	// Name returns what [Header].Graph says in the program's checkpoints.
	Name() string

	// Advance continues from the branch's head until it parks, ends or fails. A program
	// that fails records that as a checkpoint of status failed; an error it returns is
	// for people to read. It returns [ErrBusy] if somebody else runs the thread, and an error
	// that matches [ErrOtherVersion], with nothing written, if only another version of the
	// program can go on with it.
	Advance(ctx context.Context, thread, branch string) error
}
