package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// stepped commits steps with values, and a checkpoint after them.
func stepped(t *testing.T, l *ledger.Ledger, thread string, values map[string]posthouse.Value, order ...string) posthouse.ID {
	t.Helper()
	d := &ledger.Draft{Thread: thread, Checkpoint: noted("1", "done")}
	for _, name := range order {
		d.Steps = append(d.Steps, posthouse.Step{Task: "1/read@1", Name: name, Value: values[name]})
	}
	return must.Get(l.Commit(t.Context(), d))(t).Checkpoint.ID
}

// results asks for the steps of a checkpoint as a viewer, who sees states, too.
func (h *testServer) results(id posthouse.ID, more string) map[string]*Step {
	h.t.Helper()
	var c Checkpoint
	h.send(ask{method: "GET", path: "/api/checkpoints/" + string(id) + "?state=false&steps=true&results=true" + more, as: tokens.Viewer}).want(http.StatusOK).into(&c)
	all := map[string]*Step{}
	for _, s := range c.Steps {
		if s.Step != nil {
			all[s.Step.Name] = s
		}
	}
	return all
}

// TestResultsOfSteps are what is on record, byte for byte, within a bound; what is gone or sealed says so.
func TestResultsOfSteps(t *testing.T) {
	h := open(t, nil)
	values := map[string]posthouse.Value{
		"account":  {Codec: "json", Data: []byte(`{"account": 9007199254740993, "text":"<script>\u202e"}`)},
		"bytes":    {Codec: "gob", Data: []byte{0, 1, 2}},
		"not":      {Codec: "json", Data: []byte(`{"half`)},
		"big":      {Codec: "json", Data: []byte(`"` + strings.Repeat("x", maxResults) + `"`)},
		"after":    {Codec: "json", Data: []byte(`1`)},
		"nothing":  {Codec: "json"},
		"pay>$use": {Codec: "json", Data: []byte(`"of the runtime"`)},
	}
	id := stepped(t, h.ledger, "t", values, "account", "bytes", "big", "after", "nothing", "pay>$use")
	got := h.results(id, "")
	if s := got["account"]; string(s.Result) != `{"account":9007199254740993,"text":"<script>\u202e"}` && !bytes.Contains(s.Result, []byte("9007199254740993")) || s.ResultSize != len(values["account"].Data) {
		t.Errorf("a result is shown as %s of %d bytes", s.Result, s.ResultSize)
	}
	var text string
	must.Do(t, json.Unmarshal(h.results(id, "&values=text")["account"].Result, &text))
	if text != string(values["account"].Data) {
		t.Errorf("as text it is %s", text)
	}
	if s := got["bytes"]; string(s.Result) != `"AAEC"` || s.Step.Codec != "gob" {
		t.Errorf("bytes are %s", s.Result)
	}
	if s := got["big"]; s.Result != nil || s.ResultState != ledger.ResultLarge || s.ResultSize != maxResults+2 {
		t.Errorf("what is too large has %d bytes, is %q and of size %d", len(s.Result), s.ResultState, s.ResultSize)
	}
	if s := got["after"]; string(s.Result) != "1" {
		t.Errorf("what comes after it is %s", s.Result)
	}
	for _, name := range []string{"nothing", "pay>$use"} {
		if s := got[name]; s == nil || s.Result != nil || s.ResultState != "" {
			t.Errorf("%s has the result %+v", name, s)
		}
	}
	var without Checkpoint
	h.get("/api/checkpoints/" + string(id) + "?steps=true").want(http.StatusOK).into(&without)
	for _, s := range without.Steps {
		if s.Result != nil || s.ResultSize != 0 {
			t.Errorf("nobody asked for %s", s.Result)
		}
	}
	h.get("/api/checkpoints/" + string(id) + "?results=true").refused(posthouse.CodeInvalid)

	seq := got["account"].Seq
	must.Get(h.store.Remove(t.Context(), posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{{Seq: seq, Record: 0}}}))(t)
	if s := h.results(id, "")["account"]; s.Result != nil || s.ResultState != ledger.ResultRemoved {
		t.Errorf("what was removed is %q, %q", s.Result, s.ResultState)
	}

	ring := must.Get(crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1"))(t)
	sealed := must.Get(ledger.Open(h.store, &ledger.Options{Cipher: ring}))(t)
	d := &ledger.Draft{
		Thread: "sealed", Steps: []posthouse.Step{{Task: "1/read@1", Name: "secret", Value: values["account"]}},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: "read", State: noted("1", "").State},
	}
	id = must.Get(sealed.Commit(t.Context(), d))(t).Checkpoint.ID
	if s := h.results(id, "")["secret"]; s.Result != nil || s.ResultState != ledger.ResultSealed {
		t.Errorf("what is sealed is %q, %q", s.Result, s.ResultState)
	}
}
