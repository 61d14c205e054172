// Package tasks has the commands about work that is handed out: [Task] starts, shows and changes
// tasks at a server, and takes out messages about tasks that could not be read; [Worker]
// handles tasks with commands, over HTTP or NATS.
//
// A task's gate is its name. Package task and those below it have what a worker and an engine
// say to each other; [NATSFlags] say where they meet over NATS, for serve as well.
//
// A new command below task is a function in a file of its own, named in [Task]. Package cli
// imports this one.
package tasks
