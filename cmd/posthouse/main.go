package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/posthouse/posthouse/cmd/posthouse/internal/term"
)

// version is set by the linker; see versionText.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{
		Term: term.Term{
			In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
			Color:       term.IsTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
			Interactive: term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stderr),
		},
		env: os.Getenv,
	}
	room := headroom()
	code := a.run(ctx, os.Args[1:])
	runtime.KeepAlive(room)
	stop()
	os.Exit(code)
}
