package openapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// questions receives the messages of a webhook that decides for ann, and returns how servers are told
// of it.
func questions(t *testing.T, dir string) (*app.Options, <-chan *notify.Event) {
	t.Helper()
	secret := webhook.NewSecret()
	key := must.Get(webhook.ParseSecret(secret))(t)
	opened := make(chan *notify.Event, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = webhook.Verify(r.Header, body, time.Now(), key)
		}
		e := new(notify.Event)
		if err == nil {
			err = json.Unmarshal(body, e)
		}
		if err != nil {
			t.Errorf("a message is refused: %v", err)
		}
		opened <- e
	}))
	t.Cleanup(receiver.Close)
	hook := must.Get(webhook.New(&webhook.Options{URL: receiver.URL, Secret: secret, Insecure: true, Allow: []string{"127.0.0.0/8", "::1"}}))(t)
	return &app.Options{Dir: dir, PagesURL: "https://posthouse.example.com", Endpoints: []notify.Endpoint{{
		Name: "ops", Channel: hook, Events: []notify.Type{notify.GateOpened}, DecideFor: "ann",
	}}}, opened
}

// TestGeneratedClientWalks makes a client in TypeScript from the description. It begins a program, sees
// what that asks, approves it at the next server by the link of a webhook, reads the result, forks, and
// verifies.
func TestGeneratedClientWalks(t *testing.T) {
	tools := install(t)
	dir, data := t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(filepath.Join(tools.dir, "node_modules"), filepath.Join(dir, "node_modules")))
	for _, name := range []string{"walk.ts", "tsconfig.json", "package.json"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), must.Get(os.ReadFile("testdata/"+name))(t), 0o644))
	}
	walk := exec.CommandContext(t.Context(), "node", "dist/walk.js")
	walk.Dir = dir
	var errs bytes.Buffer
	walk.Stderr = &errs
	in := must.Get(walk.StdinPipe())(t)
	out := bufio.NewScanner(must.Get(walk.StdoutPipe())(t))
	line := func() string {
		if !out.Scan() {
			_ = walk.Wait() // its errors say more
			t.Fatalf("the client ended: %s", errs.Bytes())
		}
		return strings.TrimSpace(out.Text())
	}

	o, opened := questions(t, data)
	serve(t, o, func(url, token string) {
		tools.run(t, dir, "openapi-typescript/bin/cli.js", description(t, url), "-o", "api.d.ts")
		tools.run(t, dir, "typescript/bin/tsc", "-p", ".")
		walk.Env = append(os.Environ(), "POSTHOUSE_SERVER="+url, "POSTHOUSE_TOKEN="+token)
		must.Do(t, walk.Start())
		if got := line(); got != "waiting" {
			t.Fatalf("the client says %s", got)
		}
	})
	told := <-opened
	serve(t, o, func(url, token string) {
		must.Do(t, json.NewEncoder(in).Encode(map[string]any{"server": url, "token": token, "approval": told.Data.Gate.Approval}))
		want := `{"question":"Sell lamp?","by":"ann","status":"done","state":{"Item":"lamp","Paid":true},"fork":"Sell chair?","verified":true}`
		if got := line(); got != want {
			t.Errorf("the client reads %s, want %s", got, want)
		}
		must.Do(t, walk.Wait())
	})
}
