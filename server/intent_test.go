package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// A gate says in a list and by itself what it intends and what it binds, with the numbers on record.
func TestGatesSayWhatTheyBind(t *testing.T) {
	h := open(t, nil)
	done, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t1", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting,
	}, Gates: []posthouse.Gate{{
		Name: "refund", Text: "\nRefund order 7?\nIt came late.", Payload: json.RawMessage(`{"to":"bob","account":9007199254740993}`),
		PayloadSchema: json.RawMessage(`{"properties":{"account":{"title":"Account"}}}`),
	}}})
	must.Do(t, err)
	const want = `Refund order 7? [{to to "bob"} {account Account 9007199254740993}]`
	var list []Gate
	h.send(ask{method: "GET", path: "/api/gates", as: tokens.Viewer}).want(http.StatusOK).into(&list)
	var one Grant
	h.send(ask{method: "GET", path: "/api/gates/" + string(done.Gates[0].ID) + "/grant", as: tokens.Viewer}).want(http.StatusOK).into(&one)
	for what, a := range map[string]Asked{"in a list": list[0].Asked, "by itself": one.Asked} {
		got := a.Intent + " ["
		for i, f := range a.Binding {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("{%s %s %s}", f.Name, f.Label, f.Value)
		}
		if got += "]"; got != want {
			t.Errorf("%s it is %s, want %s", what, got, want)
		}
	}
}
