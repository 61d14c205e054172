package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
)

// A workshop is a module outside the repository that posthouse init has made, and the posthouse dev
// that serves it while it is worked on.
type workshop struct {
	*house
	module string
	lines  chan string // that dev prints, on both of its streams
	pid    int         // of the program that serves
	hook   *receiver   // of a webhook with links that decide for ann
}

// newWorkshop makes the module.
func newWorkshop(t *testing.T) *workshop {
	w := &workshop{house: newHouse(t), module: filepath.Join(t.TempDir(), "refunds"), lines: make(chan string, 1000)}
	checkout, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	w.must("init", w.module, "--module", "example.com/acme/refunds", "--posthouse", checkout)
	w.hook = newReceiver(t, w.must("webhook", "secret"), "ann")
	return w
}

// develop runs posthouse dev in the module until the test ends. It is built with our flags, so that
// what it shares with the product is compiled once, and nothing is downloaded.
func (w *workshop) develop() {
	w.t.Helper()
	cmd := exec.Command(binary, "dev", "--addr", "127.0.0.1:0", "--data-dir", w.dir, "--notify", w.hook.config)
	cmd.Dir, cmd.Env = w.module, append(environment(), "GOPROXY=off")
	r, out := io.Pipe()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-ended
	})
	go func() {
		_ = cmd.Wait() // the test reads what it prints
		_ = out.Close()
	}()
	go func() {
		defer close(ended)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			_, _ = w.log.Write(append(sc.Bytes(), '\n')) // it keeps all
			w.lines <- sc.Text()
		}
		close(w.lines)
	}()
}

// until reads what dev prints until a line has a text.
func (w *workshop) until(text string) {
	w.t.Helper()
	for line := range w.lines {
		if strings.Contains(line, text) {
			return
		}
	}
	w.t.Fatalf("posthouse dev ended before it said %q", text)
}

// serves waits for the next program that is ready.
func (w *workshop) serves() {
	w.t.Helper()
	for line := range w.lines {
		name, value, _ := strings.Cut(line, " ")
		switch value = strings.TrimSpace(value); {
		case name == "Page":
			w.url = strings.TrimSuffix(value, "/")
		case strings.HasPrefix(line, "Token file"):
			secret, err := os.ReadFile(strings.TrimSpace(strings.TrimPrefix(line, "Token file")))
			if err != nil {
				w.t.Fatal(err)
			}
			w.token = strings.TrimSpace(string(secret))
		case name == "PID":
			w.pid, _ = strconv.Atoi(value) // killing process 0 fails
		case name == "next:":
			return
		}
	}
	w.t.Fatal("posthouse dev ended before its program was ready")
}

// edit replaces a text in a file of the module.
func (w *workshop) edit(name, from, to string) {
	w.t.Helper()
	path := filepath.Join(w.module, name)
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		w.t.Fatalf("%s has no %q: %v", name, from, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// question waits until a thread asks, and returns its gate.
func (w *workshop) question(thread string) posthouse.Gate {
	w.t.Helper()
	for {
		var gates []posthouse.Gate
		w.decode(&gates, "inbox", "--thread", thread)
		if len(gates) == 1 {
			return gates[0]
		}
	}
}

// TestAModuleOfAUsersOwn makes a module outside the repository and lives with it: its test passes, dev
// serves its graph, a run begins over HTTP and another over the command line, a build that fails
// changes nothing, a kill loses nothing, a webhook's link from before it decides, and what was decided is
// forked and verified.
func TestAModuleOfAUsersOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a module of its own")
	}
	w := newWorkshop(t)
	check := exec.Command("go", "test", ".")
	check.Dir, check.Env = w.module, append(environment(), "GOPROXY=off")
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("its own test fails: %v\n%s", err, out)
	}
	w.develop()
	w.serves()

	var begun struct{ Thread string }
	body := `{"input":{"Message":"please refund order 1234"},"id":"over-http"}`
	if status := w.call("POST", "/api/programs/refund/runs", body, &begun); status != 201 || begun.Thread != "over-http" {
		t.Fatalf("a run over HTTP: %d, %+v", status, begun)
	}
	w.decode(&begun, "run", "start", "refund", `{"Message":"please refund order 1235"}`, "--id", "over-cli")
	first, second := w.question("over-http"), w.question("over-cli")
	if first.Text != "Refund 4999 cents for order 1234?" || second.Text != "Refund 1250 cents for order 1235?" {
		t.Errorf("it asks %q and %q", first.Text, second.Text)
	}

	told := w.hook.event(notify.GateOpened, "over-http")
	if told.Gate.ID != first.ID || told.Gate.Intent != first.Text || told.Gate.Approval == nil {
		t.Fatalf("the webhook tells of %+v", told.Gate)
	}

	// A build that fails is printed, and leaves the program alone.
	w.edit("refund.go", "func refund(", "func refund{")
	w.until("refund.go:")
	w.until("the build failed, so the program from before goes on")
	pid := w.pid
	if w.question("over-http").ID != first.ID {
		t.Error("the program does not go on as it did")
	}
	w.edit("refund.go", "func refund{", "func refund(")
	w.serves()
	if w.pid == pid {
		t.Error("the change is not served")
	}

	// A kill loses nothing, and the next program goes on.
	server, err := os.FindProcess(w.pid)
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.until("the program has ended")
	w.edit("orders.go", "We refund", "We pay")
	w.serves()
	w.approve(told.Gate.Approval)
	w.finish(first, second)
}

// approve follows the link of a message, and waits until a message says that the run has ended.
func (w *workshop) approve(link *notify.Approval) {
	t := w.t
	t.Helper()
	yes := w.follow(link)
	if open := w.question("over-http"); open.Text != "Refund 4999 cents for order 1234?" {
		t.Errorf("after its link was opened, the thread asks %q", open.Text)
	}
	if status := yes(); status != http.StatusOK {
		t.Fatalf("an approval by the link of a webhook is answered %d", status)
	}
	if status := yes(); status != http.StatusConflict {
		t.Errorf("a second use of the link is answered %d", status)
	}
	if run := w.hook.event(notify.ThreadEnded, "over-http").Run; run.Status != posthouse.StatusDone {
		t.Errorf("the run ended as %+v", run)
	}
}

// finish looks at what the approval came to, decides, forks and verifies.
func (w *workshop) finish(first, second posthouse.Gate) {
	t := w.t
	t.Helper()
	var decided posthouse.Gate
	if w.call("GET", "/api/gates/"+string(first.ID), "", &decided); decided.Decision.By != "ann" || decided.Decision.Actor != "endpoint:ops" {
		t.Errorf("on record is %+v", decided.Decision)
	}
	var paid struct{ State json.RawMessage }
	w.decode(&paid, "checkpoint", "show", "over-http")
	if !strings.Contains(string(paid.State), "We pay 4999 cents for order 1234, approved by ann.") {
		t.Errorf("the state is %s", paid.State)
	}
	if out := w.must("reject", string(second.ID), "--yes"); !strings.Contains(out, "done") {
		t.Errorf("a rejection comes to %s", out)
	}
	var fork posthouse.Header
	w.decode(&fork, "checkpoint", "fork", string(first.Checkpoint), "--branch", "what-if", "--patch", `{"Amount":100}`)
	w.must("resume", "over-http", "--branch", "what-if")
	if asked := w.question("over-http"); asked.Text != "Refund 100 cents for order 1234?" {
		t.Errorf("the fork asks %q", asked.Text)
	}
	if out := w.must("verify"); !strings.Contains(out, "ok") {
		t.Errorf("verify says %s", out)
	}
}
