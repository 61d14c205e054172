// Package statediff says what differs between two states, part by part: for
// JSON value by value, for anything else that the bytes differ.
//
// Elements of arrays are matched from both ends, so an appended message is one
// addition and not a shifted list.
//
// It imports the root package and the standard library.
package statediff
