// Package audit has the resource /api/audit: what people and programs decided, changed and did, of all
// threads or of one, in pages or as lines of JSON. Everything in it follows from the log, whose entries
// are checked while they are read.
package audit
