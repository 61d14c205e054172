// Package layout says what the rows of the database hold: the head of an entry,
// the keys of ids, where an id leads, bodies as they are stored, a thread's summary
// and the columns that go with it.
package layout
