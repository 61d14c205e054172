package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

const (
	// lookEvery is how often files are looked at.
	lookEvery = 300 * time.Millisecond

	// stopTime is how long a program that is asked to end may take, before it is killed.
	stopTime = 20 * time.Second

	// askTime is how long a program may take to say whether it has a command.
	askTime = 10 * time.Second
)

// A Loop serves the programs of a module, and again after a file has changed.
type Loop struct {
	Dir  string                           // with go.mod and the package main
	Args []string                         // flags of serve, or of dev if the module's binary has that
	Out  io.Writer                        // of the program
	Err  io.Writer                        // of the program and of the compiler
	Say  func(format string, args ...any) // tells a person what is done

	work    string // directory of what was built
	builds  int
	embeds  []string // files that the module embeds
	running *process
}

// A process is a program that serves.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed after err is set
	err   error
}

// Run builds, serves and looks for changes until ctx ends. A build that fails leaves the program
// that runs alone. A program that ends by itself is started again after the next change.
func (l *Loop) Run(ctx context.Context) (err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "the module here cannot be built: there is no go command", Err: err, Hint: "install Go, or serve what this binary has: --watch=false"}
	}
	l.Dir, err = filepath.EvalSymlinks(l.Dir) // files below a link are not looked at
	if err != nil {
		return err
	}
	removeLeft(os.TempDir())
	work, err := newWorkspace(os.TempDir())
	if err != nil {
		return err
	}
	l.work = work.dir
	defer func() { err = errors.Join(err, l.stop(), work.remove()) }()
	for {
		seen := l.look(ctx)
		if err := l.renew(ctx); err != nil {
			return err
		}
		if !l.await(ctx, seen) {
			return nil
		}
		l.Say("a file has changed: building again")
	}
}

// look returns a snapshot of what the next build reads. Files that it embeds are asked for after its source
// was looked at: a change in between is seen as one of the source.
func (l *Loop) look(ctx context.Context) snapshot {
	s := look(l.Dir, nil)
	var out bytes.Buffer
	err := l.goCommand(ctx, &out, io.Discard, "list", "-f", `{{$d := .Dir}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, "./...")
	if err == nil { // otherwise the build says what is wrong
		l.embeds = strings.Split(strings.TrimSpace(out.String()), "\n")
	}
	for _, path := range l.embeds {
		s.add(path)
	}
	return s
}

// renew builds the module and lets what was built serve in the place of what runs.
func (l *Loop) renew(ctx context.Context) error {
	binary, err := l.build(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && l.running != nil:
		l.Say("the build failed, so the program from before goes on")
		return nil
	case err != nil:
		l.Say("the build failed: it is tried again after the next change")
		return nil
	}
	if err := l.stop(); err != nil {
		l.Say("the program from before did not end well: %s", err.Error())
	}
	return l.start(ctx, binary)
}

// build builds the module. The compiler writes to Err.
func (l *Loop) build(ctx context.Context) (binary string, err error) {
	l.builds++
	binary = filepath.Join(l.work, fmt.Sprintf("program-%d", l.builds))
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if err := l.goCommand(ctx, l.Err, l.Err, "build", "-o", binary, "."); err != nil {
		return "", err
	}
	return binary, nil
}

func (l *Loop) goCommand(ctx context.Context, out, errs io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, out, errs
	return cmd.Run()
}

// start starts what was built: dev if it has that command, else serve. A dev of its own must not
// build again. The binary is removed when it has ended.
func (l *Loop) start(ctx context.Context, binary string) error {
	args := append([]string{"serve"}, l.Args...)
	if l.hasDev(ctx, binary) {
		args = append([]string{"dev", "--watch=false"}, l.Args...)
	}
	if ctx.Err() != nil {
		return nil
	}
	cmd := exec.Command(binary, args...)
	cmd.Args[0] = "posthouse" // what its hints tell people to type here
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, l.Out, l.Err
	apart(cmd)
	if err := tie(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_ = os.Remove(binary) // the directory goes as well, in the end
		close(p.ended)
	}()
	l.running = p
	return nil
}

// hasDev asks a binary whether it has the command dev.
func (l *Loop) hasDev(ctx context.Context, binary string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "help", "dev")
	cmd.Dir = l.Dir
	return cmd.Run() == nil
}

// stop asks what runs to end, and waits. It returns the error that it ended with.
func (l *Loop) stop() error {
	p := l.running
	if p == nil {
		return nil
	}
	l.running = nil
	if p.cmd.Process.Signal(os.Interrupt) != nil { // it has ended, or this system has no such signal
		_ = p.cmd.Process.Kill() // it has ended, then
	}
	timer := time.AfterFunc(stopTime, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	<-p.ended
	return p.err
}

// await returns true when files differ from what was seen, and have stopped changing; false when
// ctx has ended.
func (l *Loop) await(ctx context.Context, seen snapshot) bool {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := seen
	for {
		var ended chan struct{}
		if l.running != nil {
			ended = l.running.ended
		}
		select {
		case <-ctx.Done():
			return false
		case <-ended:
			l.Say("the program has ended (%s): it is started again after the next change", said(l.running.err))
			l.running = nil
			continue
		case <-tick.C:
		}
		now := look(l.Dir, l.embeds)
		if !now.equal(seen) && now.equal(last) {
			return true
		}
		last = now
	}
}

func said(err error) string {
	if err == nil {
		return "exit code 0"
	}
	return err.Error()
}
