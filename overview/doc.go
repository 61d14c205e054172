// Package overview says what goes on in threads, as lists of them show it: when each last moved, one
// line about now, and how many effects on the world have an outcome that is not known. A list needs
// no second question to the server.
//
// Nothing of it is kept. The line is read from the log each time, so an encrypted text stays encrypted
// in the store, and a removed one is gone from lists, too.
package overview
