// Package upkeep has the rules of package ledgertest about deletion, retention, releases,
// copies and encryption.
package upkeep
