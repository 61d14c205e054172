package service

import (
	"errors"
	"net"
	"os/exec"
	"syscall"
	"time"
)

// A Process is a server that runs.
type Process struct {
	Start func() *exec.Cmd // the command, made again for each run
	Ready func() bool      // whether the server answers; asked until it does
	End   syscall.Signal   // what kills it, and what it gets when this process dies

	// Address is host:port where the server listens. While it is down, a connection that anybody
	// begins may be given that port: Run waits until it is free. Empty: it may be taken.
	Address string

	cmd   *exec.Cmd
	ended chan struct{}
}

// patience bounds the start of a server.
const patience = time.Minute

// Run starts the server and returns once it answers. It fails if the server ends before,
// or is silent for a minute, and if its address is taken for so long.
func (p *Process) Run() error {
	if err := p.awaitAddress(); err != nil {
		return err
	}
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

func (p *Process) awaitAddress() error {
	if p.Address == "" {
		return nil
	}
	for late := time.After(patience); ; {
		l, err := net.Listen("tcp", p.Address)
		if err == nil {
			return l.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			return err
		}
	}
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
