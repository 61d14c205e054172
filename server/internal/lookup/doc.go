// Package lookup has the resource /api/find: where an id, or part of one, leads. People paste ids from
// logs and messages, and type the few characters that they see of one.
//
// There is no index of endings. A whole id is found by the store's index of ids, a thread by the
// marks of its name; parts of other ids are compared with those of the newest checkpoints and of the
// open questions.
package lookup
