// Package state turns states of a graph, which are structs, into parts that a
// Ledger stores. It finds what nodes changed in them.
//
// A [Schema] says how the fields of a type become parts. It is made once, by
// reflection. A [Live] state is the one that the nodes of a run work on.
// [Live.Delta] returns the parts that changed since the last call. It compares a
// part without pointers bit by bit, an append part by its new elements, any other
// by its encoding. Tasks that run beside others each have a [Live.Branch]; what
// they wrote ([Live.Writes]) is merged by the rules of the parts ([Live.Merge]).
//
// It knows nothing of nodes, runs and threads.
package state
