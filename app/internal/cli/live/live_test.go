package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/store/memstore"
)

// A running is a command line that goes on.
type running struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	code  chan int
	all   strings.Builder
}

// start runs a command line until end is called.
func start(t *testing.T, d *clitest.Desk, args ...string) *running {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	run := &running{t: t, lines: bufio.NewScanner(r), stop: cancel, code: make(chan int, 1)}
	go func() {
		code := d.Start(ctx, w, append(args, "--server", d.URL)...)
		_ = w.Close()
		run.code <- code
	}()
	return run
}

// until reads lines until one has a text, and returns it.
func (r *running) until(text string) string {
	r.t.Helper()
	for r.lines.Scan() {
		r.all.WriteString(r.lines.Text() + "\n")
		if strings.Contains(r.lines.Text(), text) {
			return r.lines.Text()
		}
	}
	r.t.Fatalf("it ends without %q:\n%s", text, r.all.String())
	return ""
}

// end interrupts the command.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	for r.lines.Scan() { // what it prints last
	}
	if code := <-r.code; code != 130 {
		r.t.Errorf("interrupted, its exit code is %d, want 130", code)
	}
}

// TestWatch prints the events of the past and the next ones, of kinds and threads that are asked for.
func TestWatch(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	first := d.Ask("first", "acme")
	watched := start(t, d, "watch", "--after", "start")
	watched.until("first  question " + string(first) + " pay: Pay this order?")
	gates := start(t, d, "watch", "second", "--kind", "gate,decision", "--after", "start", "--limit", "2", "-o", "jsonl")
	second := d.Ask("second", "bob")
	watched.until("second  question " + string(second))
	if _, err := d.Ledger.Decide(t.Context(), second, posthouse.Decision{Verdict: posthouse.Reject, By: "ann", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	watched.until("question " + string(second) + " ✗ rejected by ann")
	watched.end()
	for _, want := range []string{"gate", "decision"} {
		var e posthouse.Event
		if err := json.Unmarshal([]byte(gates.until("")), &e); err != nil || e.Kind.String() != want || e.Thread != "second" || e.Cursor == "" {
			t.Errorf("a line is %+v, %v, want a %s", e, err, want)
		}
	}
	if code := <-gates.code; code != 0 {
		t.Errorf("with enough events its exit code is %d", code)
	}
	clitest.Wants(t, "an unknown kind", d.Run(2, "watch", "--kind", "gates"), "is no kind of event: gates", "the kinds are checkpoint, step, gate")
	clitest.Wants(t, "a bad cursor", d.Run(2, "watch", "--after", "no such"), "after")
	clitest.Wants(t, "a negative limit", d.Run(2, "watch", "--limit", "-1"), "limit")
}

// TestLogFollows draws the thread and goes on with what is added, each entry once.
func TestLogFollows(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	gate := d.Ask("order-1", "acme")
	log := start(t, d, "log", "order-1", "-f")
	log.until("thread order-1")
	log.until(string(gate))
	if _, err := d.Ledger.Decide(t.Context(), gate, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	d.Ask("order-2", "bob")
	log.until("✓ approved by ann")
	log.until("node receipt: done")
	log.end()
	if all := log.all.String(); strings.Count(all, "question "+string(gate)) != 1 || strings.Contains(all, "order-2") {
		t.Errorf("it prints\n%s", all)
	}
	clitest.Wants(t, "a version that changes", d.Run(2, "log", "order-1", "-f", "--version", "1"), "exclude each other")
	clitest.Wants(t, "an unknown thread", d.Run(3, "log", "nowhere", "-f"), "nowhere")
}

// TestTop shows what waits, runs and has failed; at a terminal again and again, in place.
func TestTop(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	clitest.Wants(t, "top of nothing", d.Run(0, "top"), "waiting for people: 0", "running: 0", "failed: 0")
	waits := d.Ask("waits", "acme")
	if _, err := d.Ledger.Decide(t.Context(), d.Ask("fails", "closed"), posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	failed := start(t, d, "watch", "fails", "--after", "start")
	failed.until("failed")
	failed.end()
	clitest.Wants(t, "top", d.Run(0, "top"), "waiting for people: 1\n", string(waits), "pay: Pay this order?", "failed: 1\n", "fails ")
	var p struct {
		Waiting, Failed struct {
			Count int
			Items []struct{ ID, Thread string }
		}
	}
	again := start(t, d, "top", "-o", "jsonl", "--every", "200ms")
	for range 2 {
		if err := json.Unmarshal([]byte(again.until("")), &p); err != nil || p.Waiting.Count != 1 || p.Waiting.Items[0].ID != string(waits) || p.Failed.Items[0].Thread != "fails" {
			t.Errorf("a line is %+v, %v", p, err)
		}
	}
	again.end()
	clitest.Wants(t, "top without a pause", d.Run(2, "top", "--every", "1ms"), "every", "200ms")
}
