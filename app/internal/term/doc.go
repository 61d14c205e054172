// Package term writes for people and for programs: aligned tables, JSON, a
// question with yes or no.
//
// What is printed came from data: names, states, reasons, model output. Any of
// it may hold an escape sequence that moves the cursor, renames the window or
// hides half a line, so nothing reaches the terminal but through [Strip],
// [StripText] or [EscapeJSON].
//
// It imports the standard library only.
package term
