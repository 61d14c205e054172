// Package threads has the commands about programs and threads: what programs there are ([Program]),
// beginning their runs ([Run]), the inbox and its decisions ([Inbox], [Gate],
// [Decide], [Delegate], [AskAgain]), a thread's state and history ([Thread], [Checkpoint], [Log],
// [Diff], [Grant]), and making a thread go on ([Send], [Signal], [Resume], [Replay], [Anew]).
//
// All of them ask a server: RunE is a function of a client of the API, by [env.Env.Online].
// Four files have what several share: question.go shows a gate to a person who is
// about to decide it, outcome.go follows work that a command started to the head of its
// branch, view.go prints checkpoints, and complete.go offers ids to shells.
//
// A new command is a function in a file of its own, and a line in package cli, which
// imports this one.
package threads
