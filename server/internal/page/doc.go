// Package page serves the files of the inbox page, the login page and the page
// that describes all routes. The policy of its answers lets a page load what this
// server serves, and nothing else.
//
// The package may import ui, server/internal/api, server/internal/strict and
// server/problem.
package page
