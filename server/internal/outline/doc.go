// Package outline has the resource /api/threads/{id}/outline: one short row for each checkpoint of a
// thread, all of them in one answer, so that a client can draw branches, questions and forks at once.
package outline
