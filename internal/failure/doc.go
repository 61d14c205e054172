// Package failure records an error that a program saw, and makes an error of the record.
//
// [Encode] keeps the text of an error, and of each that it wraps the type, the text, and the
// JSON where that says all of it. [Decode] returns a [runs.Failure], which [errors.Is] and
// [errors.As] take for what it was. A program that is executed again so gets the error that it
// went on after.
package failure
