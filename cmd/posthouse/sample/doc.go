// Package sample has the programs of the binary posthouse: a sample workflow to try, which dev
// serves. The binary of a release, in a module of its own, has the same.
package sample
