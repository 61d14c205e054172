package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A demoServer is a process of dev --demo, with its first token.
type demoServer struct {
	API, Token string // Token is the file
	secret     string
}

// call makes a request and decodes the answer.
func (s *demoServer) call(ctx context.Context, method, path, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.API, "/api")+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.secret)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// TestDemo: one command serves the week, says that it is a demo, pays an invoice that is approved, and leaves
// nothing.
func TestDemo(t *testing.T) {
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "posthouse", "dev", "--demo", "--json", "--addr", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "HOME="+cmd.Dir, "XDG_DATA_HOME="+cmd.Dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var s demoServer
	err = json.NewDecoder(out).Decode(&s)
	if err == nil {
		var secret []byte
		secret, err = os.ReadFile(s.Token)
		s.secret = strings.TrimSpace(string(secret))
	}
	if err == nil {
		err = s.walk(t.Context())
	}
	if e := cmd.Process.Signal(os.Interrupt); e != nil {
		t.Error(e)
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Errorf("%v\n%s", err, &errs)
	}
	for _, dir := range []string{temporary, cmd.Dir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("the demo left %v, %v", left, err)
		}
	}
}

// walk approves the question of an invoice and looks at what became of its thread.
func (s *demoServer) walk(ctx context.Context) error {
	var version struct{ Demo bool }
	if err := s.call(ctx, "GET", "/version", "", &version); err != nil || !version.Demo {
		return errors.Join(err, fmt.Errorf("/version says demo: %v", version.Demo))
	}
	var gates struct {
		Items []struct{ ID, CreatedAt string }
	}
	if err := s.call(ctx, "GET", "/api/gates?thread=invoice-1014", "", &gates); err != nil || len(gates.Items) != 1 {
		return errors.Join(err, fmt.Errorf("the invoice asks %+v", gates))
	}
	asked, err := time.Parse(time.RFC3339, gates.Items[0].CreatedAt)
	if err != nil || time.Since(asked) < 48*time.Hour {
		return errors.Join(err, fmt.Errorf("a question of the week is of %s", asked))
	}
	var outcome struct{ Head struct{ Status string } }
	if err := s.call(ctx, "POST", "/api/gates/"+gates.Items[0].ID+"/approve", `{}`, &outcome); err != nil || outcome.Head.Status != "done" {
		return errors.Join(err, fmt.Errorf("approved, the thread is %q", outcome.Head.Status))
	}
	return nil
}
