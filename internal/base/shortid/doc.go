// Package shortid reads ids as people shorten them: an ending, a beginning, or both, as in 01a2…667e.
//
//	part, ok := shortid.Read("667e")
//	part.Matches("019a2f6e-7c1b-7d1e-8f00-3b7d1c2a667e") // true
//
// Ids are ordered by time, so the beginnings of those of one hour are the same; an ending tells them
// apart.
package shortid
