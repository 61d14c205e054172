// Package project makes modules that serve programs of their own, and serves them while they
// are worked on.
//
// [Write] fills a directory with a module: a graph, a model, a tool, a question and a test, as
// package starter has them, so that they are compiled and tested here. A
// [Source] says which posthouse it requires. A [Loop] builds the module at hand, runs what it
// built, and does so again after a file has changed.
package project
