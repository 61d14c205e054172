// Package text checks the text of names and fields. It is valid UTF-8, without control
// characters and invisible ones.
//
// It imports the standard library and nothing else.
package text
