package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// TestForkByPatch changes a state by a JSON Patch and by a merge patch, of parts and of one opaque
// value. A part that a patch does not touch keeps its bytes, and one that does not fit names the path.
func TestForkByPatch(t *testing.T) {
	h := open(t, nil)
	part := func(v string) posthouse.Value { return posthouse.Value{Codec: "json", Data: []byte(v)} }
	c := posthouse.Root("parts", posthouse.State{"account": part(`9007199254740993`), "order": part(`{"lines":[1, 2],"n":1.50}`), "raw": {Codec: "raw", Data: []byte{0, 1}}})
	c, err := h.ledger.Save(t.Context(), c, nil)
	must.Do(t, err)
	opaque := h.saved("opaque", `{"account":9007199254740993,"amount":40}`)
	fork := func(id posthouse.ID, media, query, body string) *reply {
		return h.send(ask{method: "POST", path: "/api/checkpoints/" + string(id) + "/fork" + query, body: body, header: []string{"Content-Type: " + media}})
	}
	stateOf := func(a *reply) posthouse.State {
		t.Helper()
		c, err := h.ledger.Get(t.Context(), a.want(http.StatusOK).checkpoint().ID)
		must.Do(t, err)
		return c.State
	}
	s := stateOf(fork(c.ID, api.JSONPatch, "?branch=b", `[{"op":"test","path":"/account","value":9007199254740993},{"op":"add","path":"/order/lines/-","value":9007199254740995}]`))
	if string(s["account"].Data) != `9007199254740993` || string(s["order"].Data) != `{"lines":[1,2,9007199254740995],"n":1.50}` || string(s["raw"].Data) != "\x00\x01" || s["raw"].Codec != "raw" {
		t.Errorf("patched it is %q", s)
	}
	s = stateOf(fork(c.ID, api.MergePatch+"; charset=utf-8", "", `{"account":9007199254740995}`))
	if string(s["account"].Data) != `9007199254740995` || string(s["order"].Data) != `{"lines":[1, 2],"n":1.50}` {
		t.Errorf("merged it is %q", s)
	}
	s = stateOf(fork(c.ID, api.JSONPatch, "", `[{"op":"remove","path":"/order"}]`))
	if _, ok := s["order"]; ok || len(s) != 2 || string(s["raw"].Data) != "\x00\x01" {
		t.Errorf("without a part it is %q", s)
	}
	s = stateOf(fork(opaque.ID, api.JSONPatch, "?thread=copy", `[{"op":"replace","path":"/amount","value":35}]`))
	if string(s[posthouse.OpaquePart].Data) != `{"account":9007199254740993,"amount":35}` {
		t.Errorf("the opaque state is %q", s)
	}
	for body, path := range map[string]string{
		`[{"op":"test","path":"/account","value":9007199254740992}]`: "/account", `[{"op":"remove","path":"/nothing/at/all"}]`: "/nothing/at/all",
	} {
		if p := fork(c.ID, api.JSONPatch, "", body).refused(posthouse.CodeConflict); p.Field != path || p.Hint == "" {
			t.Errorf("%s: %+v", body, p)
		}
	}
	for _, bad := range []string{`{}`, `[{"op":"add","path":"/a"}]`, `[{"op":"remove","path":"/order","path":"/raw"}]`, `[`, `[{"op":"replace","path":"","value":1}]`} {
		fork(c.ID, api.JSONPatch, "", bad).refused(posthouse.CodeInvalid)
	}
	fork(c.ID, api.JSONPatch, "?state=x", `[]`).refused(posthouse.CodeInvalid)
	fork(c.ID, "application/xml", "", `[]`).refused(problem.CodeMediaType)
	fork(c.ID, api.MergePatch, "", `{"order":"`+strings.Repeat("x", posthouse.DefaultMaxState)+`"}`).refused(posthouse.CodeTooLarge)
	if p := fork(c.ID, api.JSONPatch, "?dryRun=true", `[]`).want(http.StatusOK).checkpoint(); p.ID != c.ID || p.Plan == nil {
		t.Errorf("a dry run answers %+v", p)
	}
}
