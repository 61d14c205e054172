// Package substituted reads and writes the table of substitutions in the runtime's own thread.
//
// Each change is a signal of the name [Name]: it says what changed and holds the table after it, so
// that the newest entry is all there is to read. No person can send a signal to such a thread.
package substituted
