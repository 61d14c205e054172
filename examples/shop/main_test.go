package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asShop makes the test's own binary the shop's.
const asShop = "POSTHOUSE_TEST_SHOP"

func TestMain(m *testing.M) {
	if os.Getenv(asShop) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A shop is a data directory, and the server on it.
type shop struct {
	t     *testing.T
	dir   string
	api   string
	token string
}

// command returns a command line of the shop's.
func (s *shop) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], append(args, "--data-dir", s.dir)...)
	cmd.Env = append(os.Environ(), asShop+"=1", "NO_COLOR=1")
	if s.api != "" {
		cmd.Env = append(cmd.Env, "POSTHOUSE_SERVER="+strings.TrimSuffix(s.api, "/api"))
	}
	return cmd
}

// run runs one and returns what it printed.
func (s *shop) run(args ...string) string {
	s.t.Helper()
	out, err := s.command(s.t.Context(), args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("shop %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// serve starts the server; what it returns asks it to end, and waits.
func (s *shop) serve() (stop func()) {
	s.t.Helper()
	cmd := s.command(context.Background(), "serve", "--addr", "127.0.0.1:0", "--json")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	var banner struct{ API, Token, Next string }
	if err := json.NewDecoder(out).Decode(&banner); err != nil {
		s.t.Fatal("it prints no banner: ", err)
	}
	secret, err := os.ReadFile(banner.Token)
	if err != nil {
		s.t.Fatal(err)
	}
	s.api, s.token = banner.API, strings.TrimSpace(string(secret))
	if !strings.HasPrefix(banner.Next, "shop send refund") {
		s.t.Errorf("next: %s", banner.Next)
	}
	return func() {
		s.t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			s.t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			s.t.Error("asked to end, it says: ", err)
		}
	}
}

// ask sends a request and decodes the answer.
func (s *shop) ask(method, path, body string, answer any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v %s", path, resp.Status, err, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		s.t.Fatal(err)
	}
}

// TestShop serves the shop's own programs, asks over HTTP, restarts, approves,
// and looks at what became of it with the shop's own commands.
func TestShop(t *testing.T) {
	s := &shop{t: t, dir: t.TempDir()}
	stop := s.serve()
	var reply struct{ Thread, Gate, Text, Status string }
	s.ask("POST", "/agents/refund", `{"message":"{\"Order\":\"1234\",\"Amount\":40}"}`, &reply)
	if reply.Status != "waiting" || reply.Gate == "" || reply.Text != "asking for 1234" {
		t.Fatalf("the request comes to %+v", reply)
	}
	stop() // nothing waits in memory

	stop = s.serve()
	defer stop()
	var decided struct { // the next checkpoint, and where the branch stands after it
		Head struct{ Head, Status string }
	}
	s.ask("POST", "/gates/"+reply.Gate+"/approve?by=alice", `{}`, &decided)
	var paid struct{ State Refund }
	s.ask("GET", "/checkpoints/"+decided.Head.Head, "", &paid)
	if decided.Head.Status != "done" || paid.State.Receipt != "40 for order 1234, approved by alice" {
		t.Errorf("the approval comes to %+v, %+v", decided, paid)
	}
	for _, it := range []struct{ agent, want string }{{"restock", "lamps is ordered, no. 1"}, {"desk", "You asked: lamps"}} {
		s.ask("POST", "/agents/"+it.agent, `{"message":"lamps"}`, &reply)
		if reply.Status != "done" || reply.Text != it.want {
			t.Errorf("%s says %+v", it.agent, reply)
		}
	}
	log := s.run("log", reply.Thread)
	if !strings.Contains(log, "desk") || !strings.Contains(s.run("thread", "list"), "restock") {
		t.Errorf("the shop's commands show\n%s", log)
	}
	if help := s.run("--help"); !strings.Contains(help, `Begin with "shop serve"`) || strings.Contains(help, "posthouse dev") || strings.Contains(help, "  dev ") {
		t.Errorf("its help says\n%s", help)
	}
	if said := s.run("verify"); !strings.Contains(said, "ok") {
		t.Error(said)
	}
}
