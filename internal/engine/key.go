package engine

import "strconv"

// A TaskKey names an execution. The name is made when it is asked for, since most are
// never written down.
type TaskKey struct {
	Step  uint64 // that the execution makes, counted from 1, with those that make no checkpoint
	Label string // of the node; without a Step the whole name
}

// String returns the name, as in "7/approve".
func (k *TaskKey) String() string {
	if k.Step == 0 {
		return k.Label
	}
	return strconv.FormatUint(k.Step, 10) + "/" + k.Label
}
