// Package taskslot reads and writes the slot of a task: whose it is, who has it, and what its
// handler saved.
//
//	slot, err := store.Slot(ctx, taskslot.Key(gate), posthouse.SlotOp{Verb: posthouse.SlotGet})
//	var r taskslot.Record
//	err = r.Decode(slot.Value)
//
// Package dispatch fills it in, and package retain removes those of tasks that are complete.
package taskslot
