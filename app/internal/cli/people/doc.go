// Package people has the commands about those who decide and those who wait: [Substitute] says who
// stands in for whom, [Waits] for how long questions wait, [Processes] who holds which threads,
// [Audit] who did what.
package people
