// Package trip counts the functions that one call enters: how far a newcomer has to read to
// follow it. A test builds itself again with coverage counters, and runs that twice, with the call
// and without. What has run more often with it is its trip.
package trip
