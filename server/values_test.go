package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// A gate keeps its payload without spaces, a state as it is.
const compact = `{"account":9007199254740993,"rate":1.10}`

const account = "{ \"account\":\t9007199254740993, \"rate\": 1.10 }"

// TestValuesAsText reads and sends values as strings of their bytes, over every way that has some.
func TestValuesAsText(t *testing.T) {
	h := open(t, nil)
	c, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: posthouse.State{"order": {Codec: "json", Data: []byte(account)}, "raw": {Codec: "bytes", Data: []byte("\x00x")}},
	}, Gates: []posthouse.Gate{{Name: "pay", Payload: []byte(account), Schema: []byte(`{ "type":"object" }`)}}})
	must.Do(t, err)
	gate := string(c.Gates[0].ID)
	var list struct {
		Items []struct{ Payload, Schema string }
	}
	for _, query := range []string{"?values=text", "?values=text&fields=payload,schema"} {
		h.get("/api/gates" + query).want(http.StatusOK).into(&list)
		if len(list.Items) != 1 || list.Items[0].Payload != compact || list.Items[0].Schema != `{"type":"object"}` {
			t.Errorf("%s: the gate shows %+v, want the bytes on record", query, list)
		}
	}
	var cp struct {
		State  string
		Codecs map[string]string
	}
	h.get("/api/checkpoints/" + string(c.Checkpoint.ID) + "?values=text").want(http.StatusOK).into(&cp)
	if want := `{"order":` + account + `,"raw":"AHg="}`; cp.State != want || cp.Codecs["raw"] != "bytes" {
		t.Errorf("the state is %s, want %s", cp.State, want)
	}
	if a := h.get("/api/threads/t1/log?values=text").want(http.StatusOK); !strings.Contains(string(a.body), quote(compact)) {
		t.Errorf("the log has no bytes on record: %s", a.body)
	}

	// A fork with a state sent as text has its bytes.
	var fork Checkpoint
	h.post("/api/checkpoints/"+string(c.Checkpoint.ID)+"/fork", `{"patch":{"order":{"account":1}}}`).want(http.StatusOK)
	h.post("/api/checkpoints/"+string(c.Checkpoint.ID)+"/fork?values=text", `{"patch":{"order":`+quote(account)+`}}`).want(http.StatusOK)
	var forks []Checkpoint
	h.get("/api/threads/t1/checkpoints?limit=1").want(http.StatusOK).into(&forks)
	fork = forks[0]
	if s := must.Get(h.ledger.Get(t.Context(), fork.ID))(t).State["order"]; string(s.Data) != account {
		t.Errorf("the fork has %s on record, want the bytes that were sent", s.Data)
	}
	p := h.post("/api/checkpoints/"+string(c.Checkpoint.ID)+"/fork?values=text", `{"patch":{"order":{"account":1}}}`).refused(posthouse.CodeInvalid)
	if p.Field != "patch.order" || !strings.Contains(p.Hint, "write") {
		t.Errorf("a value that is no text is refused with %+v", p)
	}
	h.get("/api/gates?values=float").refused(posthouse.CodeInvalid)

	// An edit sent as text, and the problem that shows it later.
	edited := `{"account":9007199254740995}`
	h.send(ask{method: "POST", path: "/api/gates/" + gate + "/edit?values=text", body: `{"value":` + quote(edited) + `}`})
	if d := must.Get(h.ledger.Gate(t.Context(), posthouse.ID(gate)))(t).Decision; d == nil || string(d.Value) != edited {
		t.Fatalf("the edit on record is %+v", d)
	}
	if a := h.post("/api/gates/"+gate+"/approve?values=text", ""); !strings.Contains(string(a.body), quote(edited)) {
		t.Errorf("the decision that stands is shown as %s", a.body)
	}
}

// quote returns a JSON string of ASCII text.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(s) + `"`
}

// TestEventsAsText streams values as strings.
func TestEventsAsText(t *testing.T) {
	h := open(t, nil)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "pay", Payload: []byte(account)}}})
	must.Do(t, err)
	s := h.listen(ask{method: "GET", path: "/api/events?after=start&thread=t1&values=text"})
	for {
		e, err := s.next()
		must.Do(t, err)
		if e.event == "gate" {
			if !strings.Contains(e.data, quote(compact)) {
				t.Errorf("the event shows %s", e.data)
			}
			return
		}
	}
}
