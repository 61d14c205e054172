// Package project makes modules that serve programs of their own, and serves them while they
// are worked on.
//
// [Write] fills a directory with a module: a graph, a model, a tool, a question and a test, all of
// which are package starter here, so that they are compiled and tested as they are written. A
// [Source] says which posthouse it requires. A [Loop] builds the module at hand, runs what it
// built, and does so again after a file has changed.
package project
