// Package license says what a decision licenses: whether an effect may run under it here and
// now, which question is asked again if it may not, and the question to people about an effect
// with an unknown outcome.
//
// Programs act through gate.Act, and handlers of workers through their engine. Both go by these
// rules. [Questions] is where they ask: a program at its own execution, an engine on the record
// of the program that handed the task out.
package license
