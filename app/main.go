package app

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/project"
)

// Main is the main function of a binary that serves p. It runs the command that
// the arguments name and ends the process with its exit code. Interrupt,
// SIGTERM and, unless it is ignored, SIGHUP ask it to end; the second ends it at
// once. The commands are those of posthouse, with the same variables and data
// directory.
func Main(p Programs) {
	ctx, stop := signal.NotifyContext(project.Tie(context.Background()), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	room := headroom()
	code := cli.Main(ctx, os.Args[1:], &cli.Config{
		Name: p.name(), Version: p.Version, OpenStore: p.OpenStore, OpenLink: p.OpenLink, Traces: p.OpenTraces, SignIn: p.OpenSignIn, Channels: p.Channels, Programs: opener(p.Open), Dev: p.dev(),
	})
	runtime.KeepAlive(room)
	stop()
	os.Exit(code)
}

// endings returns the signals that ask the process to end. A terminal that closes sends SIGHUP, which
// nohup has ignored.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// name returns the name of the binary.
func (p *Programs) name() string {
	if p.Name != "" || len(os.Args) == 0 {
		return p.Name
	}
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}
