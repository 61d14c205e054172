package project

import (
	"context"
	"io"
	"os"
	"os/exec"
)

// tied is the variable of a program that ends with the one that started it.
const tied = "POSTHOUSE_DEV_TIED"

// tie has a program end when this one does, however this one ends: its standard input is a pipe from
// here, which nothing is written to.
func tie(cmd *exec.Cmd) error {
	_, err := cmd.StdinPipe() // Wait closes it
	cmd.Env = append(cmd.Environ(), tied+"=1")
	return err
}

// Tie returns a context that ends with the [Loop] that started this program, where one did.
func Tie(ctx context.Context) context.Context {
	if os.Getenv(tied) == "" {
		return ctx
	}
	_ = os.Unsetenv(tied) // what this program starts has another standard input
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
	}()
	return ctx
}
