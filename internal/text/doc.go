// Package text says what text may stand in a name or a field: valid UTF-8, without
// control characters, without characters that nobody sees.
//
// It imports the standard library and nothing else.
package text
