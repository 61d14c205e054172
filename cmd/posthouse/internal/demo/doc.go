// Package demo has programs to look at, and a week of work that they have done.
//
// Each program is a file: [Invoice] and its neighbours are states of graphs, [Issue] is the input
// of a flow, and refunds are requests to a coordinator. They are ordinary programs. They
// call a [World], in which a model answers from a table and each deed is a line of a
// file, so they need no key and reach no person.
//
// [Open] makes the programs over a Ledger. [Fill] lets people work with them for the seven days
// before now: it begins runs, decides, votes, delegates and forks, over a Ledger that has a clock
// which Fill sets. The same seed and the same now give the same week.
package demo
