// Package model says which histories of a store's operations are linearizable: of heads,
// slots, gates and leases, each as a model for porcupine.
//
//	op := model.Op{Do: model.Append, Key: "thread", After: tail, Next: next}
//	ok := porcupine.CheckOperations(model.Heads(), history) // Ops with their Answers
//
// A client notes an Op when it begins it, and the Answer when it has one. An outcome that
// is not known ([Unknown]) is an operation that may happen at any time from its call on, or
// never: give it a Return after all others.
package model
