package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Bounds of what is kept of standard error, in bytes.
const (
	maxTail    = 2 << 10
	maxLogLine = 8 << 10
)

// leftover bounds how long output is read that comes when the program has ended: a process
// that has left its group may hold the pipe for ever.
const leftover = time.Second

// A process is one execution of a program.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *output
	stderr *output
	theirs []*os.File // the program's ends of the pipes

	group  int // the process's id, once it is started
	exited chan struct{}
	err    error  // how it ended, once exited is closed
	tail   []byte // the end of standard error, once that has ended
}

func newProcess(argv []string, dir string, env []string) *process {
	c := &process{exited: make(chan struct{})}
	c.cmd = &exec.Cmd{Path: argv[0], Args: argv, Dir: dir, Env: env, SysProcAttr: attributes()}
	return c
}

// start starts the program. Its thread stays until the program has ended, because on
// Linux the program is killed when the thread is gone.
func (c *process) start() error {
	if err := c.pipes(); err != nil {
		return err
	}
	begun := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		closeAll(c.theirs)
		if err != nil {
			begun <- err
			return
		}
		c.group = c.cmd.Process.Pid
		begun <- nil
		c.err = c.cmd.Wait()
		c.kill() // what it has left in its group
		_ = c.stdout.file.SetReadDeadline(past)
		_ = c.stderr.file.SetReadDeadline(past)
		close(c.exited)
	}()
	err := <-begun
	if err != nil {
		closeAll([]*os.File{c.stdin, c.stdout.file, c.stderr.file})
	}
	return err
}

// pipes makes the three pipes.
func (c *process) pipes() (err error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		ends[i], ends[i+1], err = os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return err
		}
	}
	c.theirs = []*os.File{ends[0], ends[3], ends[5]}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = ends[0], ends[3], ends[5]
	c.stdin, c.stdout, c.stderr = ends[1], &output{c, ends[2]}, &output{c, ends[4]}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes have nothing to lose
	}
}

// kill ends the group at once.
func (c *process) kill() { signalGroup(c.group, true) }

// supervise returns when the program has ended. It asks the program to end when ctx is over
// or its output is bad, and kills it after the grace.
func (c *process) supervise(ctx context.Context, bad <-chan struct{}, grace time.Duration) {
	over := ctx.Done()
	late := time.NewTimer(0)
	if !late.Stop() {
		<-late.C
	}
	defer late.Stop()
	for {
		select {
		case <-c.exited:
			_ = c.stdin.Close() // ends a write without a reader
			return
		case <-over:
		case <-bad:
		case <-late.C:
			c.kill()
			continue
		}
		over, bad = nil, nil
		signalGroup(c.group, false)
		late.Reset(grace)
	}
}

// feed writes lines to standard input, and closes it at an empty one, or when there are no
// more. A program need not read them.
func (c *process) feed(lines <-chan []byte) {
	defer c.stdin.Close()
	var broken bool
	for line := range lines {
		if len(line) == 0 {
			_ = c.stdin.Close()
		} else if !broken {
			_, err := c.stdin.Write(line)
			broken = err != nil
		}
	}
}

// readErrors reads standard error to its end, for the log and for the message of a failure.
func (c *process) readErrors(log *slog.Logger) {
	defer c.stderr.Close()
	r := bufio.NewReaderSize(c.stderr, maxLogLine)
	for {
		line, _, err := r.ReadLine() // a longer line comes in parts
		if err != nil {
			return
		}
		c.tail = append(append(c.tail, line...), '\n')
		if n := len(c.tail) - maxTail; n > 0 {
			c.tail = append(c.tail[:0], c.tail[n:]...)
		}
		log.Info("stderr: " + string(line))
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// An output is our end of a pipe that a process writes to.
type output struct {
	process *process
	file    *os.File
}

// Close closes our end.
func (o *output) Close() error { return o.file.Close() }

// Read reads until the process has ended and what it wrote is read. It waits no longer than
// leftover for what others write.
func (o *output) Read(b []byte) (int, error) {
	select {
	case <-o.process.exited:
	default:
		n, err := o.file.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		<-o.process.exited
	}
	_ = o.file.SetReadDeadline(time.Time{}) // where pipes have no deadlines, they end with the process
	timer := time.AfterFunc(leftover, func() { _ = o.file.SetReadDeadline(past) })
	defer timer.Stop()
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}
