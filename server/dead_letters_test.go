package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/letters"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task/deadletter"
)

// TestDeadLettersOverHTTP are listed, taken out and purged by operators, and not sent again if
// they are requests.
func TestDeadLettersOverHTTP(t *testing.T) {
	box := deadletter.NewMemory(func() time.Time { return time.Unix(7, 0) })
	h := open(t, func(o *Options) { o.Letters = box })
	for _, subject := range []string{"a", "b", "c"} {
		must.Do(t, box.Put(t.Context(), deadletter.Letter{Kind: deadletter.Request, Subject: subject, Reason: "does not parse", Data: []byte("{")}))
	}
	const path = "/api/dead-letters"
	var all []deadletter.Letter
	h.get(path + "?limit=2").want(http.StatusOK).into(&all)
	if len(all) != 2 || all[0].Subject != "c" || all[0].Reason != "does not parse" || string(all[0].Data) != "{" {
		t.Errorf("all %+v", all)
	}
	one := path + "/" + all[0].ID
	for _, a := range []ask{{method: "GET", path: path}, {method: "DELETE", path: path}, {method: "DELETE", path: one}, {method: "POST", path: one + "/replay"}} {
		a.as = tokens.Approver
		h.send(a).refused(posthouse.CodeForbidden)
	}
	h.send(ask{method: "POST", path: one + "/replay"}).refused(posthouse.CodeUnsupported)
	h.send(ask{method: "DELETE", path: one}).want(http.StatusNoContent)
	h.send(ask{method: "DELETE", path: one}).refused(posthouse.CodeNotFound)
	var purged letters.Purged
	h.send(ask{method: "DELETE", path: path}).want(http.StatusOK).into(&purged)
	h.get(path).want(http.StatusOK).into(&all)
	if purged.Purged != 2 || len(all) != 0 {
		t.Errorf("purged %+v, all %+v", purged, all)
	}
	h = open(t, func(o *Options) { o.Letters = nil })
	h.get(path).refused(posthouse.CodeUnsupported)
}
