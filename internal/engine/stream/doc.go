// Package stream brings what happens in a run to the one who reads along. A [Hub] has the
// goroutines of a run on one side and the reader of [Read] on the other: a [Notice] is handed
// over when the reader is done with the one before, so that a slow reader slows the run down
// and loses nothing. An [Emitter] passes on the text and values that one attempt of a program
// emits, for as long as the attempt lasts. Nothing of this is on record.
package stream
