// Package files has the resource /api/files: a thread that was exported into a file is looked at.
// Nothing of it is kept: the file is read into a store in memory, which goes with the answer.
package files
