// Package letters has the routes of dead letters: messages about tasks that could not be used.
// An operator lists them, sends them again, and takes them out.
package letters
