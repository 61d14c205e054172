// Package board keeps the open tasks that the workers of an engine may claim.
//
//	b := board.New(map[string]int{"charge": 10}) // at most 10 tasks of this name at once
//	b.Add(board.FromGate(gate))
//	t, ready, news := b.Next(keys, now) // the first task of these queues
//	...
//	b.Remove(t)                         // it was claimed; or Requeue, to try again later
//
// A task stands in one queue, by its name and the group of workers that it is for. Next takes
// it out of there, and whoever has taken it puts it back or removes it. The board also counts
// the tasks of a name that are claimed, or being claimed, and passes over the queues of names
// that have as many as they may.
//
// A [Board] is in memory and reads nothing: the log may have decided a task by the time that
// it is taken. It is safe for concurrent use, and calls no other type while it holds its lock.
package board
