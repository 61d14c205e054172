// Package license says what a decision licenses: whether an effect may run under it here and
// now, which question is asked again where it may not, and what people are asked about an effect
// whose outcome is not known.
//
// Programs act through gate.Act, and handlers of workers through their engine. Both go by these
// rules. [Questions] is where they ask: a program at its own execution, an engine on the record
// of the program that handed the task out.
package license
