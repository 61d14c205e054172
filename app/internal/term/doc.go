// Package term writes for people and for programs: aligned tables, JSON, and questions
// with yes or no.
//
// Names, states, reasons and model output may hold escape sequences that move the
// cursor, rename the window or hide half a line. So all that is printed goes through
// [Visible], [VisibleText] or [EscapeJSON]. Other people's text over several lines is marked
// line by line: [Term.Quote].
package term
