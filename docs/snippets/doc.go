// Package snippets holds the Go code of the documentation, so that it is
// compiled, and most of it run, like any other code.
//
// A block of Go in a page names its source after the language:
//
//	```go temporal_test.go#activity
//
// stands for the lines between "//doc:activity" and "//doc:end" of that file in
// this directory, less their indentation. The file is a test, and the lines are
// best those of an Example, so that what they print is checked too. For a file
// elsewhere the block is a declaration, as in "store.go#Batch"; its path begins
// at the root of the module. A test compares all pages, and
//
//	go test ./docs/snippets -update
//
// writes what the code says into them. In snippets, must(...) and ok(...) stand
// for whatever a program does with an error.
package snippets
