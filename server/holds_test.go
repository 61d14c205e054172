package server

import (
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestHold holds a thread: it shows, deleting is refused until it is lifted.
func TestHold(t *testing.T) {
	h := open(t, nil)
	h.waitFor("t1", "go")
	var held Hold
	h.post("/api/threads/t1/hold", `{"reason":"case 7"}`).want(http.StatusOK).into(&held)
	var info Thread
	h.get("/api/threads/t1").want(http.StatusOK).into(&info)
	if info.Held == nil || *info.Held != held || held.By == "" {
		t.Errorf("held %+v, shown %+v", held, info.Held)
	}
	h.send(ask{method: "DELETE", path: "/api/threads/t1"}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "DELETE", path: "/api/threads/t1/hold?reason=settled"}).want(http.StatusNoContent)
	h.send(ask{method: "DELETE", path: "/api/threads/t1"}).want(http.StatusOK)
	h.post("/api/threads/nobody/hold", `{}`).refused(posthouse.CodeNotFound)
}
