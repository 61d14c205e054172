// Package threads has the commands about threads: what waits for a decision and how it is
// decided ([Inbox], [Gate], [Decide], [Delegate], [AskAgain]), what a thread is and did
// ([Thread], [Checkpoint], [Log], [Diff], [Grant]), and how it is made to go on ([Send], [Signal],
// [Resume], [Replay], [Anew]).
//
// All of them ask a server: RunE is a function of a client of the API, by [env.Env.Online].
// Four files have what several share: question.go shows a gate to a person who is
// about to decide it, outcome.go follows work that a command started to the head of its
// branch, view.go prints checkpoints, and complete.go offers ids to shells.
//
// A new command is a function in a file of its own, and a line in addCommands of package
// cli, which imports this one.
package threads
