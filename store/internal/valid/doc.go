// Package valid refuses what no store takes: the checks that are the same for all.
//
// It may import the standard library and the root package.
package valid
