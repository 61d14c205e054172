package faults

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// clientEnv says which store this process is a client of, as JSON.
const clientEnv = "POSTHOUSE_E2E_FAULTS"

// An order tells a client's process what to do.
type order struct {
	Do            string // "write", "sound" or "reopen"
	Threads, Size int
	Patience      time.Duration
}

// A report is what came of it.
type report struct {
	Results []result
	Wrong   []string
	Error   string
}

// A target is a store.
type target struct {
	URL     string
	Timeout time.Duration // of calls to its server; 0: the store's default
}

// serve does what its standard input says until that ends.
func serve(text string) error {
	ctx := context.Background()
	var at target
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return err
	}
	c, err := newClient(ctx, at)
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	if err := out.Encode(report{}); err != nil {
		return err
	}
	for {
		var o order
		if err := in.Decode(&o); err == io.EOF {
			return c.store.Close()
		} else if err != nil {
			return err
		}
		var r report
		switch o.Do {
		case "write":
			r.Results = c.write(ctx, o.Threads, o.Size, o.Patience)
		case "sound":
			r.Wrong = c.sound(ctx)
		case "reopen":
			if err := c.reopen(ctx); err != nil {
				r.Error = err.Error()
			}
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// A process is a client in another process.
type process struct {
	t   *testing.T
	in  io.WriteCloser
	out *json.Decoder
	cmd *exec.Cmd
}

// start starts a client of the store at url.
func start(t *testing.T, url string, timeout time.Duration) *process {
	t.Helper()
	at, err := json.Marshal(target{url, timeout})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientEnv+"="+string(at))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, in, json.NewDecoder(out), cmd}
	t.Cleanup(func() {
		_ = in.Close()
		stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer stop.Stop()
		_ = cmd.Wait() // a store without its server may not close well
	})
	p.hear()
	return p
}

func (p *process) hear() (r report) {
	p.t.Helper()
	if err := p.out.Decode(&r); err != nil {
		p.t.Fatalf("the client is silent: %v", err)
	}
	return r
}

func (p *process) order(o order) report {
	p.t.Helper()
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		p.t.Fatal(err)
	}
	return p.hear()
}

// write appends to so many threads at once.
func (p *process) write(threads, size int, patience time.Duration) []result {
	p.t.Helper()
	return p.order(order{Do: "write", Threads: threads, Size: size, Patience: patience}).Results
}

// wantWritten appends to so many threads, and again what has no answer, until all is
// acknowledged.
func (p *process) wantWritten(when string, threads, size int) {
	p.t.Helper()
	results, begun := p.write(threads, size, 0), time.Now()
	has := func(code string) bool {
		return slices.ContainsFunc(results, func(r result) bool { return r.Code == code })
	}
	for n := 0; n < 10 && has("unknown") || time.Since(begun) < 10*time.Second && has("full"); n++ { // a server that has just recovered may be slow to answer, or to see that there is room
		results = p.write(threads, size, 0)
	}
	for _, r := range results {
		if r.Code != "" {
			p.t.Errorf("%s, a write: %q after %v", when, r.Code, r.Took)
		}
	}
}

// wantSound wants all that was acknowledged, once.
func (p *process) wantSound(when string) {
	p.t.Helper()
	for _, wrong := range p.order(order{Do: "sound"}).Wrong {
		p.t.Errorf("%s: %s", when, wrong)
	}
}

func (p *process) reopen() {
	p.t.Helper()
	if err := p.order(order{Do: "reopen"}).Error; err != "" {
		p.t.Fatalf("opening it again: %s", err)
	}
}
