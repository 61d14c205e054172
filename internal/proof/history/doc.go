// Package history records what clients of a store do at once, and checks that it is
// linearizable: heads, slots, gates and leases, by the models in its package model.
//
//	run := history.Run{Site: s, Seed: 7}
//	result, err := run.Do(ctx) // result.Verdicts["heads"] == porcupine.Ok
//
// The clients are in crews, each a process of its own: this binary again, which begins with
// [Working]. A store that processes share has two crews at once. Each client writes a line
// when it calls and a line when it has an answer. All lines go through one pipe, which
// keeps their order: it is the clock. A call without an answer is an operation of unknown
// outcome.
//
// While they work, by chance: crews are killed and others go on; a crew is stopped until
// another takes its lease; the server is killed and started again; proxies delay bytes and
// cut connections in the middle of an answer. A store in memory has its clients in this
// process and nothing goes wrong.
//
// [Controls] are stores that are broken on purpose. A check that lets one pass proves
// nothing, and fails.
//
// It is for tests and commands.
package history
