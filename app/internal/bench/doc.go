// Package bench measures the workloads that Posthouse's limits are set for,
// each beside its raw baseline in the same run: one delta row a step through
// the same driver with the same settings, and no engine (internal/baseline).
//
// A machine's absolute numbers say little: the same disk does 400 or 15,000
// syncs a second, depending on who else uses it. So rounds of baseline and
// engine are interleaved, in turns, and what counts is the median of each and
// the ratio of the two.
//
// It imports the ledger, the graph, two stores and the baseline: it is wiring.
package bench
