// Package lists says in which lists a store finds threads and open gates, and in which order. Each
// store with an index keeps the same rows, so that each answers the same queries as fast.
//
// A store has a row for each mark of a thread ([Marks]) with the minute of its last entry, and a row
// for each list of an open gate ([OfGate]). For a query it picks rows ([Sets], [ForGates]). A row
// only finds: [posthouse.ThreadQuery.Match] and [MatchGate] decide, so an outdated row does no
// harm. A store without these rows may read all summaries instead.
package lists
