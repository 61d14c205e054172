package slack_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// A workspace is the Slack API in this process, as far as an app needs it. It refuses what Slack refuses.
type workspace struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	messages []*message
	whispers []whisper
	modals   []*modal
	spent    map[string]bool // triggers that opened a modal
	late     bool            // triggers have expired
	calls    map[string]int
	before   func(w http.ResponseWriter, method string, form url.Values) bool // answers in place of the API if it is true
	after    func(w http.ResponseWriter, method string) bool                  // the same, once the call has had its effect
	socket   *websocket.Conn
	acks     chan ack
	work     sync.WaitGroup
}

type message struct {
	Channel, TS, ThreadTS, Text string
	Blocks                      []block
	Metadata                    json.RawMessage
	Edits                       int
}

type block struct {
	Type     string
	Text     *text
	Fields   []text
	Elements []element
}

type text struct {
	Type, Text string
	Emoji      *bool
}

type element struct {
	Type     string
	ActionID string          `json:"action_id"`
	Text     json.RawMessage // an object in buttons, a string in contexts
	Value    string
	URL      string
}

// An ack is the answer to an envelope.
type ack struct {
	EnvelopeID string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload"`
}

type whisper struct{ Channel, User, Text string }

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, calls: map[string]int{}, spent: map[string]bool{}, acks: make(chan ack, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", w.call)
	mux.HandleFunc("GET /socket", w.connect)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.mu.Lock()
		if w.socket != nil {
			_ = w.socket.Close()
		}
		w.mu.Unlock()
		w.Close()
		w.work.Wait()
	})
	return w
}

func (w *workspace) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// posted returns copies of the messages that are no replies.
func (w *workspace) posted() (all []message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		if m.ThreadTS == "" {
			all = append(all, *m)
		}
	}
	return all
}

func (w *workspace) replies() (all []message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		if m.ThreadTS != "" {
			all = append(all, *m)
		}
	}
	return all
}

func (w *workspace) whispered() []whisper {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.whispers)
}

func (w *workspace) call(rw http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	_ = r.ParseForm()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[method]++
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		token = r.Form.Get("token")
	}
	want := "xoxb-bot"
	if method == "apps.connections.open" {
		want = "xapp-app"
	}
	answer := map[string]any{"ok": true}
	defer func() {
		if rw != nil {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(answer)
		}
	}()
	if w.before != nil && w.before(rw, method, r.Form) {
		rw = nil
		return
	}
	fail := func(code string) { answer = map[string]any{"ok": false, "error": code} }
	if token != want {
		fail("invalid_auth")
		return
	}
	switch method {
	case "chat.postMessage", "chat.update", "chat.postEphemeral":
		m := &message{Channel: r.Form.Get("channel"), Text: r.Form.Get("text"), ThreadTS: r.Form.Get("thread_ts"), Metadata: json.RawMessage(r.Form.Get("metadata"))}
		if err := json.Unmarshal([]byte(r.Form.Get("blocks")), &m.Blocks); err != nil || !w.fits(m.Blocks) {
			w.t.Errorf("%s has blocks that Slack refuses: %v, %s", method, err, r.Form.Get("blocks"))
			fail("invalid_blocks")
			return
		}
		if strings.ContainsAny(m.Text, "<>") || r.Form.Get("mrkdwn") != "false" || r.Form.Get("unfurl_links") == "true" {
			w.t.Errorf("%s has text with markup: %v", method, r.Form)
		}
		switch method {
		case "chat.postEphemeral":
			w.whispers = append(w.whispers, whisper{m.Channel, r.Form.Get("user"), m.Blocks[0].Text.Text})
			answer["message_ts"] = "1.1"
			return
		case "chat.update":
			i := slices.IndexFunc(w.messages, func(o *message) bool { return o.TS == r.Form.Get("ts") && o.Channel == m.Channel })
			if i < 0 {
				fail("message_not_found")
				return
			}
			w.messages[i].Blocks, w.messages[i].Text = m.Blocks, m.Text
			w.messages[i].Edits++
			m = w.messages[i]
		default:
			m.TS = fmt.Sprintf("%d.%06d", time.Now().Unix(), len(w.messages)+1)
			w.messages = append(w.messages, m)
		}
		answer["channel"], answer["ts"], answer["text"] = m.Channel, m.TS, m.Text
	case "views.open":
		w.openView(r, fail)
	case "conversations.open":
		answer["channel"] = map[string]any{"id": "D" + r.Form.Get("users")}
	case "conversations.history":
		var all []map[string]any
		oldest, _ := strconv.ParseFloat(r.Form.Get("oldest"), 64)
		for _, m := range w.messages {
			ts, _ := strconv.ParseFloat(m.TS, 64)
			if m.Channel == r.Form.Get("channel") && ts >= oldest && r.Form.Get("include_all_metadata") != "" {
				all = append(all, map[string]any{"type": "message", "ts": m.TS, "text": m.Text, "metadata": m.Metadata})
			}
		}
		answer["messages"] = all
	case "apps.connections.open":
		answer["url"] = "ws" + strings.TrimPrefix(w.URL, "http") + "/socket"
	default:
		fail("unknown_method")
	}
	if w.after != nil && w.after(rw, method) {
		rw = nil
	}
}

// fits reports whether Slack would take blocks: it counts, and bounds texts by characters.
func (w *workspace) fits(blocks []block) bool {
	within := func(s string, n int) bool { return s != "" && utf8.RuneCountInString(s) <= n }
	if len(blocks) == 0 || len(blocks) > 50 {
		return false
	}
	for _, b := range blocks {
		switch b.Type {
		case "header":
			if b.Text == nil || !within(b.Text.Text, 150) || b.Text.Type != "plain_text" {
				return false
			}
		case "section":
			if b.Text == nil && len(b.Fields) == 0 || len(b.Fields) > 10 || b.Text != nil && (!within(b.Text.Text, 3000) || b.Text.Type != "plain_text") {
				return false
			}
			for _, f := range b.Fields {
				if !within(f.Text, 2000) || f.Type != "plain_text" {
					return false
				}
			}
		case "context":
			if len(b.Elements) == 0 || len(b.Elements) > 10 {
				return false
			}
		case "actions":
			if len(b.Elements) == 0 || len(b.Elements) > 25 {
				return false
			}
			for _, e := range b.Elements {
				if e.Type != "button" || len(e.Value) > 2000 || len(e.URL) > 3000 || e.ActionID == "" || len(e.ActionID) > 255 {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

func (w *workspace) connect(rw http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // the library sends Slack's
	c, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		w.t.Error(err)
		return
	}
	_ = c.WriteJSON(map[string]any{"type": "hello", "num_connections": 1})
	w.set(func() { w.socket = c })
	w.work.Go(func() {
		for {
			var a ack
			if err := c.ReadJSON(&a); err != nil {
				return
			}
			w.acks <- a
		}
	})
}

// everything returns all text that a message shows.
func (m *message) everything() string {
	var all []string
	for _, b := range m.Blocks {
		if b.Text != nil {
			all = append(all, b.Text.Text)
		}
		for _, f := range b.Fields {
			all = append(all, f.Text)
		}
	}
	return strings.Join(all, "\n")
}

// button returns the value of a button, "" if there is none.
func (m *message) button(name string) string {
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			if e.ActionID == "posthouse."+name {
				return e.Value + e.URL
			}
		}
	}
	return ""
}

// pressing returns the payload that Slack sends when a member presses a button.
func pressing(m *message, name, user, team string) []byte {
	b, _ := json.Marshal(map[string]any{
		"type": "block_actions", "api_app_id": "A1", "token": "legacy", "trigger_id": rand.Text(), "response_url": "https://hooks.slack.com/actions/T1/1/x",
		"user":      map[string]any{"id": user, "username": "x", "name": "x", "team_id": team},
		"team":      map[string]any{"id": team, "domain": "example"},
		"channel":   map[string]any{"id": m.Channel, "name": "finance"},
		"container": map[string]any{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": false},
		"message":   map[string]any{"type": "message", "ts": m.TS, "text": m.Text},
		"actions": []any{map[string]any{
			"action_id": "posthouse." + name, "block_id": "b", "type": "button", "value": m.button(name), "action_ts": "1.2",
			"text": map[string]any{"type": "plain_text", "text": name, "emoji": false},
		}},
	})
	return b
}

const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// signed returns a request as Slack sends it to a request URL.
func signed(payload []byte, at time.Time, key string) *http.Request {
	body := url.Values{"payload": {string(payload)}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/api/channels/slack", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return r
}
