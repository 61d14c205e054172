// Package check compares rows, summaries and indexes with the logs that they are derived
// from. It only reads.
package check
