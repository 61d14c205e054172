// Package text checks the text of names and fields, and says which characters people do
// not see: the one list of the pages and of the terminal.
package text
