//go:build linux

package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/certtest"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestThreeHosts: a worker is cut off while it handles a task. It stops by itself, and the
// other begins after that, in about 5 s. Back on the network it goes on. Nothing is executed
// once its result is on record.
func TestThreeHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for leases, in processes of its own")
	}
	for _, over := range []string{"nats", "http"} {
		t.Run(over, func(t *testing.T) { threeHosts(t, over) })
	}
}

func threeHosts(t *testing.T, over string) {
	names := []string{"engine", "w1", "w2"}
	n := newNetwork(t, names...)
	certs := certtest.New(t, address(0))
	dir := t.TempDir()
	s := settings{
		Dir: filepath.Join(dir, "data"), Witness: filepath.Join(dir, "witness"),
		CA: certs.CA, Cert: certs.Cert, Key: certs.Key, Over: over, Engine: address(0),
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := tokens.Open(s.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Token, err = list.Create("worker", tokens.Worker, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, n, "engine", "engine", s)
	for _, name := range names[1:] {
		s.Name = name
		start(t, n, name, "worker", s)
	}
	seen := &sightings{t: t, path: s.Witness}

	e.begin("hold")
	first := seen.await("begin", "hold", "")
	e.begin("a1", "a2", "a3", "a4", "a5", "a6")
	cut := time.Now()
	n.cut(first.by)
	e.begin("b1", "b2", "b3", "b4", "b5", "b6")
	stopped := seen.await("stop", "hold", first.by)
	other := map[string]string{"w1": "w2", "w2": "w1"}[first.by]
	second := seen.await("begin", "hold", other)
	e.await("hold", "a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "b3", "b4", "b5", "b6")
	t.Logf("cut off, the worker stops after %.1f s, and the other begins after %.1f s", stopped.at.Sub(cut).Seconds(), second.at.Sub(cut).Seconds())
	if !stopped.at.Before(second.at) {
		t.Errorf("the other worker begins at %v, and the one that is cut off stops at %v", second.at, stopped.at)
	}
	if took := second.at.Sub(cut); took > 10*time.Second { // 5 s, on a machine with nothing else to do
		t.Errorf("the other worker begins %v after the first was cut off", took)
	}

	n.heal(first.by)
	n.cut(other)
	e.begin("c1")
	if back := seen.await("complete", "c1", ""); back.by != first.by {
		t.Errorf("%s handles what the worker that is back should", back.by)
	}
	n.heal(other)
	e.await("c1")
	seen.check(e)
}

// A process is one of the three, which prints lines.
type process struct {
	t  *testing.T
	in io.WriteCloser

	mu    sync.Mutex
	done  map[string]time.Time // threads, by when their end was seen
	wrong []string
	ready chan struct{}
}

// start starts a process and waits until it is ready.
func start(t *testing.T, n *network, host, role string, s settings) *process {
	t.Helper()
	p := &process{t: t, done: map[string]time.Time{}, ready: make(chan struct{})}
	cmd := n.command(host, role)
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, settingsEnv+"="+string(b))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	p.in, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.line(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s on %s ends with %v", role, host, err)
		}
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("what %s on %s says:\n%s", role, host, text)
		}
		_ = log.Close()
	})
	select {
	case <-p.ready:
	case <-read:
		t.Fatalf("%s on %s is not ready", role, host)
	case <-time.After(time.Minute):
		t.Fatalf("%s on %s does not get ready", role, host)
	}
	return p
}

func (p *process) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var name string
	var at int64
	switch n, _ := fmt.Sscanf(text, "done %s %d", &name, &at); {
	case n == 2:
		p.done[name] = time.Unix(0, at)
	case text == "ready":
		close(p.ready)
	default:
		p.wrong = append(p.wrong, text)
	}
}

// begin begins threads.
func (p *process) begin(threads ...string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, strings.Join(threads, "\n")); err != nil {
		p.t.Fatal(err)
	}
}

// await waits until threads are done.
func (p *process) await(threads ...string) {
	p.t.Helper()
	until(p.t, "threads "+strings.Join(threads, ", ")+" are not done", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.wrong) > 0 {
			p.t.Fatalf("the engine says: %q", p.wrong)
		}
		for _, name := range threads {
			if p.done[name].IsZero() {
				return false
			}
		}
		return true
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-deadline:
			t.Fatal(what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A sighting is a line of the witness.
type sighting struct {
	at             time.Time
	what, name, by string
}

type sightings struct {
	t    *testing.T
	path string
}

func (s *sightings) all() (all []sighting) {
	s.t.Helper()
	text, err := os.ReadFile(s.path)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one sighting
		var at int64
		if _, err := fmt.Sscan(line, &at, &one.what, &one.name, &one.by); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		one.at = time.Unix(0, at)
		all = append(all, one)
	}
	return all
}

// await waits for a line, by a worker or by any.
func (s *sightings) await(what, name, by string) (found sighting) {
	s.t.Helper()
	until(s.t, fmt.Sprintf("no %s of %s by %q", what, name, by), func() bool {
		for _, one := range s.all() {
			if one.what == what && one.name == name && (by == "" || by == one.by) {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

// check fails if a task was completed twice or by a worker that was cut off, or begun when its
// result was on record.
func (s *sightings) check(e *process) {
	s.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	completed := map[string]int{}
	for _, one := range s.all() {
		switch done := e.done[one.name]; {
		case one.what == "late":
			s.t.Errorf("%s had its verdict on %s taken when it was cut off", one.by, one.name)
		case one.what == "begin" && one.at.After(done):
			s.t.Errorf("%s begins %s when that is done", one.by, one.name)
		case one.what == "complete":
			completed[one.name]++
		}
	}
	for name := range e.done {
		if completed[name] > 1 { // 0 if the answer to a verdict was lost
			s.t.Errorf("%s was completed %d times", name, completed[name])
		}
	}
}
