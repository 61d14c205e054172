package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/proof/site"
)

// A freeze is one case over SQLite: a process is stopped for longer than its lease, while another
// one asks for its store. It then goes on, or is killed and the other one goes on.
type freeze struct {
	dir    string
	lease  time.Duration
	seed   uint64
	n      int
	at     int           // the deed at which it is stopped, from 1
	after  time.Duration // how long after that
	killed bool
	copied bool // the known-bad setting: the other one runs on a copy of the store
	bad    []string
}

// deeds is how many there are in a case.
func deeds() int { return len(parts) * len(models) }

// RunFrozen stops processes over SQLite for longer than their lease, as a frozen container does.
// The line has the faults that it found ([Line.Bad]). Config.Kind is not used.
func RunFrozen(ctx context.Context, c *Config) (*Line, error) {
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.Lease == 0 {
		c.Lease = time.Second
	}
	line := &Line{Store: site.Find("sqlite").Name, Seed: c.Seed, Stalls: c.Stalls}
	began := c.Now()
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range c.Concurrency {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < c.Stalls && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				rnd := rand.New(rand.NewPCG(c.Seed, uint64(n)))
				f := &freeze{lease: c.Lease, seed: c.Seed, n: n, at: 1 + rnd.IntN(deeds()), killed: rnd.IntN(3) == 0 && !c.Control, copied: c.Control}
				if !c.Control && rnd.IntN(2) == 0 {
					f.after = 1 + time.Duration(rnd.Int64N(int64(5*time.Millisecond)))
				}
				if c.Control || f.after > 0 {
					f.at = 1 + rnd.IntN(deeds()-1) // something follows
				}
				executed, err := f.run(ctx)
				mu.Lock()
				line.what, line.Complete, line.Executions = append(line.what, f.bad...), line.Complete+1, line.Executions+executed
				if !f.killed {
					line.Alone++
				}
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("seed %d, freeze %d: %w", c.Seed, n, err))
				}
				if c.Progress != nil {
					c.Progress(line.Complete)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	line.Violations = len(line.what)
	line.Seconds = int(c.Now().Sub(began).Seconds())
	return line, errors.Join(failed, ctx.Err())
}

func (f *freeze) wrong(format string, args ...any) {
	f.bad = append(f.bad, fmt.Sprintf("seed %d, freeze %d (at deed %d, %v after, killed %v): ", f.seed, f.n, f.at, f.after, f.killed)+fmt.Sprintf(format, args...))
}

// run runs the case, and returns how many deeds there were. An error is of the trial itself.
func (f *freeze) run(ctx context.Context) (executed int, err error) {
	f.dir, err = os.MkdirTemp("", "frozen")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(f.dir)
	child := &frozenChild{Name: "a", Store: filepath.Join(f.dir, "a.db"), Witness: filepath.Join(f.dir, "witness"), Lease: f.lease, Halts: true}
	a, err := f.start(ctx, child)
	if err != nil {
		return 0, err
	}
	ended, err := f.freeze(ctx, a)
	if err == nil && !ended {
		err = f.whileFrozen(ctx, a)
	}
	if f.killed {
		_ = a.cmd.Process.Kill()
	}
	err = errors.Join(err, a.wait(f.killed))
	if f.killed && err == nil {
		var said string
		said, err = f.other(ctx, child.Store)
		if err == nil && said != saysDone {
			f.wrong("after the frozen process was killed, the other says %q", said)
		}
	}
	for _, model := range modelNames() {
		for _, part := range parts {
			n := child.saw(model + " " + part + " ")
			if executed += n; n != 1 && (!f.killed || part == effect || n == 0 || n > 2) { // who is killed in a step leaves it to be done again
				f.wrong("%s of the %s was executed %d times", part, model, n)
			}
		}
	}
	return executed, err
}

// freeze lets the process go on until it is to be stopped. It reports whether it ended before.
func (f *freeze) freeze(ctx context.Context, a *frozenProcess) (ended bool, err error) {
	for n := 1; ; n++ {
		if !a.lines.Scan() || a.lines.Text() == saysDone {
			return true, a.lines.Err()
		}
		if n == f.at && f.after == 0 && !halt(a.cmd.Process, true) {
			return false, errors.ErrUnsupported
		}
		if _, err := io.WriteString(a.in, "\n"); err != nil { // it reads that once it goes on
			return false, err
		}
		if n < f.at {
			continue
		}
		if f.after > 0 {
			if pause(ctx, f.after); !halt(a.cmd.Process, true) {
				return false, errors.ErrUnsupported
			}
		}
		return false, nil
	}
}

// whileFrozen has another process ask for the store, and lets the frozen one go on.
func (f *freeze) whileFrozen(ctx context.Context, a *frozenProcess) error {
	pause(ctx, f.lease+f.lease/2)
	store, want := filepath.Join(f.dir, "a.db"), saysLocked
	if f.copied {
		store, want = filepath.Join(f.dir, "b.db"), saysDone
		for _, end := range []string{"", "-wal"} {
			data, err := os.ReadFile(filepath.Join(f.dir, "a.db") + end)
			if err == nil {
				err = os.WriteFile(store+end, data, 0o600)
			}
			if err != nil {
				return err
			}
		}
	}
	said, err := f.other(ctx, store)
	if err != nil {
		return err
	}
	if said != want {
		f.wrong("while it was frozen, the other says %q, want %q", said, want)
	}
	if f.killed {
		return nil
	}
	if !halt(a.cmd.Process, false) {
		return errors.ErrUnsupported
	}
	for a.lines.Scan() && a.lines.Text() != saysDone {
		if _, err := io.WriteString(a.in, "\n"); err != nil {
			return err
		}
	}
	return a.lines.Err()
}

// other runs another process to its end, and returns what it says.
func (f *freeze) other(ctx context.Context, store string) (string, error) {
	b, err := f.start(ctx, &frozenChild{Name: "b", Store: store, Witness: filepath.Join(f.dir, "witness"), Lease: f.lease})
	if err != nil {
		return "", err
	}
	said := ""
	for b.lines.Scan() {
		said = strings.TrimSpace(b.lines.Text())
	}
	return said, errors.Join(b.lines.Err(), b.wait(false))
}

// A frozenProcess is a child that runs.
type frozenProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	errs  *strings.Builder
}

func (f *freeze) start(ctx context.Context, c *frozenChild) (*frozenProcess, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := &frozenProcess{cmd: exec.CommandContext(ctx, os.Args[0]), errs: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), frozenEnv+"="+string(text))
	p.cmd.Stderr = p.errs
	p.in, err = p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// wait returns once the process has ended.
func (p *frozenProcess) wait(killed bool) error {
	err := errors.Join(p.in.Close(), p.cmd.Wait())
	if killed || err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, p.errs)
}
