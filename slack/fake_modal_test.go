package slack_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// A modal is a view that an app opened, or put in the place of another.
type modal struct {
	Type            string
	CallbackID      string `json:"callback_id"`
	PrivateMetadata string `json:"private_metadata"`
	Title           *text
	Submit, Close   *text
	Blocks          []modalBlock
}

type modalBlock struct {
	block
	BlockID  string `json:"block_id"`
	Label    *text
	Hint     *text
	Optional bool
	Element  struct {
		Type         string
		ActionID     string `json:"action_id"`
		InitialValue string `json:"initial_value"`
		MaxLength    int    `json:"max_length"`
		Multiline    bool
		Options      []struct {
			Text  text
			Value string
		}
	}
}

// openView is views.open: a trigger opens one view, within 3 seconds.
func (w *workspace) openView(r *http.Request, fail func(code string)) {
	var asked struct {
		Trigger string `json:"trigger_id"`
		View    modal
	}
	body, _ := io.ReadAll(r.Body)
	switch err := json.Unmarshal(body, &asked); {
	case err != nil || !asked.View.fits(w):
		w.t.Errorf("a view that Slack refuses: %v, %s", err, body)
		fail("invalid_arguments")
	case asked.Trigger == "" || w.late:
		fail("expired_trigger_id")
	case w.spent[asked.Trigger]:
		fail("exchanged_trigger_id")
	default:
		w.spent[asked.Trigger] = true
		w.modals = append(w.modals, &asked.View)
	}
}

// fits reports whether Slack would take a view.
func (m *modal) fits(w *workspace) bool {
	within := func(t *text, n int) bool {
		return t != nil && t.Type == "plain_text" && t.Text != "" && utf8.RuneCountInString(t.Text) <= n
	}
	if m.Type != "modal" || !within(m.Title, 24) || m.Submit != nil && !within(m.Submit, 24) || m.Close != nil && !within(m.Close, 24) ||
		len(m.PrivateMetadata) > 3000 || len(m.Blocks) == 0 || len(m.Blocks) > 100 {
		return false
	}
	ids := map[string]bool{}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.Type != "input" {
			if !w.fits([]block{b.block}) {
				return false
			}
			continue
		}
		e := &b.Element
		if m.Submit == nil || !within(b.Label, 2000) || b.Hint != nil && !within(b.Hint, 2000) || b.BlockID == "" || len(b.BlockID) > 255 || ids[b.BlockID] || e.ActionID == "" {
			return false
		}
		ids[b.BlockID] = true
		switch e.Type {
		case "plain_text_input":
			if utf8.RuneCountInString(e.InitialValue) > 3000 || e.MaxLength > 3000 || !e.Multiline && strings.Contains(e.InitialValue, "\n") {
				return false
			}
		case "static_select", "radio_buttons":
			if len(e.Options) == 0 || len(e.Options) > 100 || e.Type == "radio_buttons" && len(e.Options) > 10 {
				return false
			}
			for _, o := range e.Options {
				if !within(&o.Text, 75) || o.Value == "" || len(o.Value) > 75 {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// input returns the block that has a label.
func (m *modal) input(label string) *modalBlock {
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Type == "input" && b.Label.Text == label {
			return b
		}
	}
	return &modalBlock{}
}

// everything returns the text of a modal beside its inputs.
func (m *modal) everything() string {
	var all message
	for _, b := range m.Blocks {
		all.Blocks = append(all.Blocks, b.block)
	}
	return all.everything()
}

// filled returns the payload that Slack sends when a member submits a modal: inputs have what they began with, but for
// those that values has by their labels. Of choices it is the text of one.
func (m *modal) filled(user, team string, values map[string]string) []byte {
	state := map[string]map[string]any{}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.Type != "input" {
			continue
		}
		typed, given := values[b.Label.Text]
		answer := map[string]any{"type": b.Element.Type}
		switch {
		case b.Element.Type != "plain_text_input":
			answer["selected_option"] = nil
			for _, o := range b.Element.Options {
				if given && o.Text.Text == typed {
					answer["selected_option"] = map[string]any{"text": map[string]any{"type": "plain_text", "text": typed}, "value": o.Value}
				}
			}
		case given && typed != "":
			answer["value"] = typed
		case given || b.Element.InitialValue == "":
			answer["value"] = nil
		default:
			answer["value"] = b.Element.InitialValue
		}
		state[b.BlockID] = map[string]any{b.Element.ActionID: answer}
	}
	sent, _ := json.Marshal(map[string]any{
		"type": "view_submission", "api_app_id": "A1", "token": "legacy", "trigger_id": rand.Text(), "response_urls": []any{},
		"user": map[string]any{"id": user, "username": "x", "name": "x", "team_id": team}, "team": map[string]any{"id": team, "domain": "example"},
		"view": map[string]any{
			"id": "V1", "team_id": team, "type": "modal", "callback_id": m.CallbackID, "private_metadata": m.PrivateMetadata, "hash": "1.x",
			"state": map[string]any{"values": state},
		},
	})
	return sent
}

// A reaction is what a modal does after it was submitted.
type reaction struct {
	Action string            `json:"response_action"` // "" closes it
	Errors map[string]string `json:"errors"`          // by block
	View   *modal            `json:"view"`
}

func (r *reaction) says() string {
	if r.View == nil {
		return ""
	}
	return r.View.everything()
}

// reacts reads an answer to a submission as Slack does.
func (w *workspace) reacts(m *modal, body []byte) *reaction {
	r := &reaction{}
	if len(body) == 0 {
		return r
	}
	must.Do(w.t, json.Unmarshal(body, r))
	for id, words := range r.Errors {
		known := false
		for _, b := range m.Blocks {
			known = known || b.Type == "input" && b.BlockID == id
		}
		if !known || words == "" {
			w.t.Errorf("Slack shows no error at %q: %s", id, body)
		}
	}
	if (r.Action == "errors") != (len(r.Errors) > 0) || (r.Action == "update") != (r.View != nil) || r.View != nil && !r.View.fits(w) {
		w.t.Errorf("Slack does not know %s", body)
	}
	return r
}

// modal waits for the n-th modal.
func (h *house) modal(n int) *modal {
	h.t.Helper()
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if len(h.w.modals) < n {
		h.t.Fatalf("there are %d modals, want %d; told were %v", len(h.w.modals), n, h.w.whispers)
	}
	return h.w.modals[n-1]
}

// submit has a member submit a modal, by the request URL.
func (h *house) submit(m *modal, user string, values map[string]string) *reaction {
	h.t.Helper()
	rw := httptest.NewRecorder()
	if err := h.n.Receive(rw, signed(m.filled(user, "T0001", values), time.Now(), signingSecret), "slack"); err != nil || rw.Code != http.StatusOK {
		h.t.Fatalf("a submission: %d, %v", rw.Code, err)
	}
	return h.w.reacts(m, rw.Body.Bytes())
}
