package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
)

// env says to a process that Start started it.
const env = "POSTHOUSE_EXAMPLE_PROCESS"

// A Process is this program once more. It ends by Wait or Kill.
type Process struct {
	Lines <-chan string // what it prints, closed once it has ended

	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts this program with other arguments. The process is killed when ctx ends, and
// shares standard error.
func Start(ctx context.Context, args ...string) (*Process, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, own, args...)
	cmd.Env = append(os.Environ(), env+"=1",
		"GORACE=atexit_sleep_ms=0") // the race detector would have it linger for a second
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for all := bufio.NewScanner(stdout); all.Scan(); {
			lines <- all.Text()
		}
	}()
	return &Process{lines, cmd, stdin}, nil
}

// Stop asks the process to end: its [Lifetime] is over.
func (p *Process) Stop() error { return p.stdin.Close() }

// Wait waits until the process has ended, and reports whether a signal killed it. Its
// remaining output is dropped.
func (p *Process) Wait() (killed bool, err error) {
	for range p.Lines {
	}
	err = p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == -1 {
		return true, nil
	}
	return false, err
}

// Kill ends the process as a crash does.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	_, _ = p.Wait() // says that it was killed
	return err
}

// End stops the process, and waits until it has ended.
func (p *Process) End() error {
	stopped := p.Stop()
	killed, err := p.Wait()
	if killed {
		err = errors.New("process: it was killed")
	}
	if errors.Is(stopped, os.ErrClosed) { // it has been stopped before
		stopped = nil
	}
	return errors.Join(stopped, err)
}

// Started reports whether [Start] started this process.
func Started() bool { return os.Getenv(env) != "" }

// Lifetime returns a context that ends when whoever started this process asks it to end, or
// is gone. Of any other process it is ctx.
func Lifetime(ctx context.Context) context.Context {
	if !Started() {
		return ctx
	}
	ctx, end := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	return ctx
}

// KillSelf ends this process as a crash does. It does not return.
func KillSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic("process: cannot kill this process: " + err.Error())
	}
	select {} // the signal is on its way
}
