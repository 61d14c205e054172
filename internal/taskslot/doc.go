// Package taskslot reads and writes the slot of a task: the call it belongs to, the worker
// that has it, and the value that its handler saved.
//
//	slot, err := store.Slot(ctx, taskslot.Key(gate), posthouse.SlotOp{Verb: posthouse.SlotGet})
//	var r taskslot.Record
//	err = r.Decode(slot.Value)
//
// Package dispatch fills it in, and package retain removes those of tasks that are complete.
package taskslot
