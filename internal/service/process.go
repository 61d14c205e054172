package service

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// A Process is a server that runs.
type Process struct {
	Start func() *exec.Cmd // the command, made anew for each run
	Ready func() bool      // whether the server answers; asked until it does
	End   syscall.Signal   // what kills it, and what it gets when this process dies

	cmd   *exec.Cmd
	ended chan struct{}
}

// patience bounds the start of a server.
const patience = time.Minute

// Run starts the server and returns once it answers. It fails if the server ends before,
// or is silent for a minute.
func (p *Process) Run() error {
	p.cmd, p.ended = p.Start(), make(chan struct{})
	dieTogether(p.cmd, p.End)
	begun := make(chan error)
	go func(cmd *exec.Cmd, ended chan struct{}) {
		keepThread() // the server ends with the thread that started it
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}(p.cmd, p.ended)
	if err := <-begun; err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !p.Ready() {
		select {
		case <-tick.C:
		case <-p.ended:
			return errors.New("it ended")
		case <-late.C:
			return errors.New("it does not answer")
		}
	}
	return nil
}

// PID returns the process id of the current run.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the server by its signal, and returns when it is gone.
func (p *Process) Kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(p.End)
		<-p.ended
	}
}
