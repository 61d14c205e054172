package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const slackSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// A slackCall is what a server asked of Slack.
type slackCall struct {
	method string
	form   url.Values
	body   []byte
}

// fakeSlack takes every call, and says which.
func fakeSlack(t *testing.T) (address string, calls <-chan slackCall) {
	t.Helper()
	all := make(chan slackCall, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body)) // a view comes as JSON
		if err != nil || r.Header.Get("Authorization") != "Bearer xoxb-bot" && form.Get("token") != "xoxb-bot" {
			t.Errorf("Slack is asked with %v, %v", r.Header, err)
		}
		all <- slackCall{r.URL.Path, form, body}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true,"channel":"C0001","ts":"1700000000.000001"}`) // who is gone reads nothing
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", all
}

// A slackHouse is a server of the release that a workspace is tied to.
type slackHouse struct {
	t     *testing.T
	self  string
	dir   string
	url   string
	token string
	calls <-chan slackCall
}

func (h *slackHouse) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), h.self, append(args, "--data-dir", filepath.Join(h.dir, "data"))...)
	cmd.Dir, cmd.Env = h.dir, append(os.Environ(), "POSTHOUSE_RELEASE_TEST=1")
	return cmd
}

// openSlackHouse runs dev, with its sample, until the test ends.
func openSlackHouse(t *testing.T) *slackHouse {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &slackHouse{t: t, self: self, dir: t.TempDir()}
	api, calls := fakeSlack(t)
	h.calls = calls
	for name, text := range map[string]string{
		"slack.token": "xoxb-bot", "slack.signing": slackSecret,
		"notify.yaml": `url: https://posthouse.example.com
slack:
  workspace: T0001
  tokenFile: slack.token
  signingSecretFile: slack.signing
  apiURL: ` + api + `
  people: {U0001: alice}
  endpoints: [{name: slack-finance, channel: C0001}]
`,
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := h.command("dev", "--addr", "127.0.0.1:0", "--json", "--notify", filepath.Join(h.dir, "notify.yaml"))
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server says:\n%s", &log)
		}
	})
	var banner struct{ API, Token string }
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&banner); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // until it ends
	h.url = strings.TrimSuffix(banner.API, "/api")
	secret, err := os.ReadFile(banner.Token)
	if err != nil {
		t.Fatal(err)
	}
	h.token = strings.TrimSpace(string(secret))
	for { // until the endpoint has begun: questions from before are not told
		out, err := h.command("webhook", "list", "--json", "--server", h.url).Output()
		if err != nil {
			t.Fatalf("the endpoints: %v, %s", err, out)
		}
		if !strings.Contains(string(out), `"state": "new"`) {
			return h
		}
	}
}

// asked waits for a call of Slack.
func (h *slackHouse) asked(method string) slackCall {
	h.t.Helper()
	for {
		select {
		case c := <-h.calls:
			if c.method == "/"+method {
				return c
			}
		case <-h.t.Context().Done():
			h.t.Fatalf("Slack is never asked for %s", method)
		}
	}
}

// send sends what Slack sends, signed, and returns the answer.
func (h *slackHouse) send(payload map[string]any, key string) (int, string) {
	h.t.Helper()
	payload["user"], payload["team"] = map[string]any{"id": "U0001", "team_id": "T0001"}, map[string]any{"id": "T0001"}
	text, err := json.Marshal(payload)
	if err != nil {
		h.t.Fatal(err)
	}
	body, stamp := url.Values{"payload": {string(text)}}.Encode(), strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/api/channels/slack", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h.do(req)
}

func (h *slackHouse) do(req *http.Request) (int, string) {
	h.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// A slackButton is a button of a message, with the gate that it is about.
type slackButton struct {
	Action string `json:"action_id"`
	Value  string `json:"value"`
	gate   string
}

// question opens a question and returns the buttons of its message, by what they do.
func (h *slackHouse) question(order string) map[string]slackButton {
	h.t.Helper()
	if out, err := h.command("send", "dispatch", "please refund order "+order, "--server", h.url).CombinedOutput(); err != nil {
		h.t.Fatalf("a question: %v, %s", err, out)
	}
	all := map[string]slackButton{}
	for len(all) == 0 { // other messages have no buttons
		h.buttons([]byte(h.asked("chat.postMessage").form.Get("blocks")), all)
	}
	return all
}

// buttons reads those of a message.
func (h *slackHouse) buttons(message []byte, all map[string]slackButton) {
	h.t.Helper()
	var blocks []struct{ Elements []json.RawMessage }
	if err := json.Unmarshal(message, &blocks); err != nil {
		h.t.Fatal(err)
	}
	for _, b := range blocks {
		for _, e := range b.Elements {
			var one slackButton
			var about struct{ Gate string }
			if json.Unmarshal(e, &one) != nil || json.Unmarshal([]byte(one.Value), &about) != nil {
				continue // a text, or the link
			}
			one.gate = about.Gate
			all[strings.TrimPrefix(one.Action, "posthouse.")] = one
		}
	}
}

func (b slackButton) pressed() map[string]any {
	return map[string]any{
		"type": "block_actions", "trigger_id": "1.2.x", "channel": map[string]any{"id": "C0001"},
		"actions": []any{map[string]any{"type": "button", "block_id": "b", "action_id": b.Action, "value": b.Value}},
	}
}

// decision returns what is on record of a gate.
func (h *slackHouse) decision(gate string) (d struct{ Verdict, By, Actor, Reason string }) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+"/api/gates/"+gate, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	status, body := h.do(req)
	var g struct{ Decision json.RawMessage }
	if err := json.Unmarshal([]byte(body), &g); err != nil || status != http.StatusOK {
		h.t.Fatalf("gate %q: %d, %s", gate, status, body)
	}
	if len(g.Decision) > 0 {
		err = json.Unmarshal(g.Decision, &d)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// TestSlackDecides has the server of the release ask in Slack. A press that Slack signed is on record as the person's
// when it is answered, a reason comes by a modal, and a press with another signature decides nothing.
func TestSlackDecides(t *testing.T) {
	h := openSlackHouse(t)
	first := h.question("1234")
	yes := first["approve"]
	if status, _ := h.send(yes.pressed(), "another secret"); status == http.StatusOK || h.decision(yes.gate).Verdict != "" {
		t.Fatalf("a press that Slack did not sign is answered %d, and on record is %+v", status, h.decision(yes.gate))
	}
	if status, body := h.send(yes.pressed(), slackSecret); status != http.StatusOK {
		t.Fatalf("a press is answered %d, %s", status, body)
	}
	if d := h.decision(yes.gate); d.Verdict != "approve" || d.By != "alice" || d.Actor != "slack:U0001" {
		t.Errorf("on record is %+v", d)
	}
	if said := h.asked("chat.update").form.Get("blocks"); !strings.Contains(said, "Approved by alice") || strings.Contains(said, "posthouse.approve") {
		t.Errorf("the message becomes %s", said)
	}

	why := h.question("1235")["form.reason"]
	if status, body := h.send(why.pressed(), slackSecret); status != http.StatusOK {
		t.Fatalf("a press is answered %d, %s", status, body)
	}
	var opened struct{ View map[string]any }
	if err := json.Unmarshal(h.asked("views.open").body, &opened); err != nil {
		t.Fatal(err)
	}
	typed := func(values map[string]any) map[string]any {
		opened.View["state"] = map[string]any{"values": values}
		delete(opened.View, "blocks") // of no concern to who reads the answer
		return map[string]any{"type": "view_submission", "view": opened.View}
	}
	reason := map[string]any{"input": map[string]any{"type": "plain_text_input", "value": "it was ours"}}
	if _, body := h.send(typed(map[string]any{"reason": reason}), slackSecret); !strings.Contains(body, `"errors":{"verdict":`) {
		t.Errorf("without a verdict it says %s", body)
	}
	choice := map[string]any{"input": map[string]any{"type": "radio_buttons", "selected_option": map[string]any{"value": "reject"}}}
	if status, body := h.send(typed(map[string]any{"reason": reason, "verdict": choice}), slackSecret); status != http.StatusOK || body != "" {
		t.Errorf("a reason is answered %d, %s", status, body)
	}
	if d := h.decision(why.gate); d.Verdict != "reject" || d.Reason != "it was ours" || d.By != "alice" {
		t.Errorf("on record is %+v", d)
	}
}
