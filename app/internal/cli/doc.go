// Package cli is the command line: the root command, the flags that all commands have, how an
// error is printed and which exit code it has, and the server that serve and dev start.
//
//	code := cli.Main(ctx, os.Args[1:], &cli.Config{Programs: open})
//
// The commands are in the packages below, one file for each or for a group of them:
//
//   - threads: what asks a server about threads: inbox, approve, log, resume, ...
//   - stores: what works on a data directory without a server: verify, backup, token, ...
//   - tasks: tasks, and the worker that handles them with commands.
//
// They are functions of an [env.Env], which has what they share. A command that is added is
// named in addCommands. Package clitest runs command lines in tests.
//
// The comment of cmd/posthouse tells users what all commands have in common: tokens,
// variables, --json, errors and exit codes.
package cli
