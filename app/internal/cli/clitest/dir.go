package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
)

// TB is what the package uses of *testing.T.
type TB interface {
	Helper()
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// A Dir is a data directory that command lines name.
type Dir struct {
	T      TB
	Path   string
	Vars   map[string]string // the environment
	Config cli.Config        // of the binary
}

// New returns a directory that is empty.
func New(t TB) *Dir { return &Dir{T: t, Path: t.TempDir()} }

// Start runs a command line until it ends, and returns its exit code. It prints to out.
func (d *Dir) Start(ctx context.Context, out io.Writer, args ...string) int {
	return d.start(ctx, &d.Config, term.Term{In: strings.NewReader(""), Out: out, Err: out}, args)
}

func (d *Dir) start(ctx context.Context, c *cli.Config, t term.Term, args []string) int {
	args = append(args[:len(args):len(args)], "--data-dir", d.Path)
	environ := func() []string {
		all := []string{}
		for name, value := range d.Vars {
			all = append(all, name+"="+value)
		}
		return all
	}
	return cli.Run(ctx, args, c, func(name string) string { return d.Vars[name] }, environ, t)
}

// Run runs a command line and returns what it printed. Another exit code than code is an
// error of the test.
func (d *Dir) Run(code int, args ...string) string {
	d.T.Helper()
	var out bytes.Buffer
	if got := d.Start(d.T.Context(), &out, args...); got != code {
		d.T.Errorf("%v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	return out.String()
}

// AtTerminal is [Dir.Run] as a person who types an answer.
func (d *Dir) AtTerminal(answer string, code int, args ...string) string {
	d.T.Helper()
	var out bytes.Buffer
	at := term.Term{In: strings.NewReader(answer), Out: &out, Err: &out, Interactive: true}
	if got := d.start(d.T.Context(), &d.Config, at, args); got != code {
		d.T.Errorf("%v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	return out.String()
}

// Serve runs serve with flags until it is ready, lets do use the host instead of clients,
// closes it, and returns the error that it ended with.
func (d *Dir) Serve(flags []string, do func(*host.Host)) error {
	d.T.Helper()
	c := d.Config
	key := ""
	c.Serve = func(_ context.Context, h *host.Host) error {
		if do != nil {
			do(h)
		}
		key = h.Ledger.EncryptionStatus().EncryptionKey
		return h.Close()
	}
	var out, failed bytes.Buffer
	args := append([]string{"serve", "--json", "--addr", "127.0.0.1:0", "--log-level", "error"}, flags...)
	code := d.start(d.T.Context(), &c, term.Term{In: strings.NewReader(""), Out: &out, Err: &failed}, args)
	if code == 0 {
		var banner struct{ EncryptionKey string }
		if err := json.Unmarshal(out.Bytes(), &banner); err != nil || banner.EncryptionKey != key {
			d.T.Errorf("the banner names the key %q, want %q, %v:\n%s", banner.EncryptionKey, key, err, &out)
		}
		return nil
	}
	var answer struct{ Error *posthouse.Error }
	if err := json.Unmarshal(failed.Bytes(), &answer); err != nil || answer.Error == nil {
		return fmt.Errorf("exit code %d: %s", code, &failed)
	}
	return answer.Error
}

// Live runs serve, or dev if the first of args says so, until stop is called, and returns the
// host that clients can come to.
func (d *Dir) Live(out io.Writer, args ...string) (h *host.Host, stop func()) {
	d.T.Helper()
	c := d.Config
	ready := make(chan *host.Host, 1)
	c.Serve = func(ctx context.Context, h *host.Host) error {
		ready <- h
		return h.Run(ctx)
	}
	if len(args) == 0 || args[0] != "dev" {
		args = append([]string{"serve"}, args...)
	}
	args = append(args, "--addr", "127.0.0.1:0", "--log-level", "error")
	ctx, cancel := context.WithCancel(d.T.Context())
	ended := make(chan error, 1)
	go func() {
		var err error
		if code := d.start(ctx, &c, term.Term{In: strings.NewReader(""), Out: out, Err: out}, args); code != 0 {
			err = fmt.Errorf("%v: exit code %d", args, code)
		}
		ended <- err
	}()
	select {
	case h = <-ready:
	case err := <-ended:
		cancel()
		d.T.Fatalf("it ends: %v", errors.Join(err, fmt.Errorf("%v", out)))
	}
	return h, func() {
		d.T.Helper()
		cancel()
		if err := <-ended; err != nil {
			d.T.Errorf("asked to end, it failed: %v", err)
		}
	}
}

// Save saves a checkpoint of a thread, with a state.
func (d *Dir) Save(h *host.Host, thread, state string) {
	d.T.Helper()
	s := posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte(state)}}
	if _, err := h.Ledger.Save(d.T.Context(), posthouse.Root(thread, s), nil); err != nil {
		d.T.Fatal(err)
	}
}

// Wants reports the words that an output lacks.
func Wants(t TB, what, out string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("%s lacks %q:\n%s", what, w, out)
		}
	}
}

// A Buffer is read while a command writes to it.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
