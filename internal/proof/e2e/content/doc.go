// Package content walks through what an answer is good for: the content that was
// shown, over forks, updates, deploys and policies, in every programming model and
// over memory and SQLite. Tests with names that begin with TestAttempt try to get
// round it; docs/approvals.md lists them.
//
// It is tests only.
package content
