// Package bench measures the workloads that Posthouse's limits are set for, each beside
// a raw baseline in the same run. The baseline (internal/baseline) writes one row a step
// through the same driver with the same settings.
//
// A machine's absolute numbers say little: the same disk does 400 or 15,000 syncs a
// second, depending on what else uses it. So rounds of baseline and engine alternate,
// and the limits are on the ratio of the two.
package bench
