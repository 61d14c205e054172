// Package removal removes a whole thread: its entries' bodies, its keys and its slots, with a
// record in the log that attests it.
//
// It is what deletion, retention and a copy that failed share. Package retain decides what goes,
// checks who asks, and tells observers.
package removal
