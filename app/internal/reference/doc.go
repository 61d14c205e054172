// Package reference writes pages of the documentation from what the program does: the commands, the
// settings, and the routes of the API.
//
//	page := reference.Commands(root)
//
// The pages are in docs/reference, and a test of the command line compares them:
//
//	go test ./app/internal/cli -run TestReference -update
//
// writes them again. No binary links this package.
package reference
