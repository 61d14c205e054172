// Package pains holds a test for each thing that users of checkpointers
// complain about most, as far as the models are concerned: TestPain04 is the
// fourth of them. TestExtra are cases that no suite of ours came with.
//
// Of the fifteen pains, 2 (no retention) and 3 (wrong states after forks and
// prunes) are tests of the root package, and 11 (dead connections) is for
// stores behind a network.
//
// It holds tests only, and may import everything.
package pains
