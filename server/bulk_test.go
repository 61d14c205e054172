package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/bulk"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestBulkCancelsByFilter plans, cancels in pages, and reports each thread.
func TestBulkCancelsByFilter(t *testing.T) {
	h := open(t, nil)
	for i := range 5 {
		h.waiting(fmt.Sprint("a", i))
	}
	h.waiting("b")
	statusOf := func(thread string) posthouse.Status { return must.Get(h.ledger.Thread(t.Context(), thread))(t).Status }
	var rep bulk.Report
	h.post("/api/bulk/cancel", `{"prefix":"a","dryRun":true}`).want(http.StatusOK).into(&rep)
	if rep.Done != 5 || !rep.DryRun || rep.Next != "" || statusOf("a0") != posthouse.StatusWaiting {
		t.Errorf("the plan is %+v, and a0 is %s", rep, statusOf("a0"))
	}
	seen, after := 0, ""
	for {
		rep = bulk.Report{}
		h.post("/api/bulk/cancel", `{"status":"waiting","prefix":"a","limit":2,"reason":"called off","after":"`+after+`"}`).want(http.StatusOK).into(&rep)
		seen += rep.Done
		if rep.Next == "" {
			break
		}
		after = rep.Next
	}
	if seen != 5 || statusOf("a4") != posthouse.StatusCancelled || statusOf("b") != posthouse.StatusWaiting {
		t.Errorf("%d were cancelled; a4 is %s, b is %s", seen, statusOf("a4"), statusOf("b"))
	}
	h.post("/api/bulk/release", `{"threads":["b","nothing","a0","b"]}`).want(http.StatusOK).into(&rep)
	if rep.Done != 2 || rep.Failed != 1 || len(rep.Items) != 3 || rep.Items[2].Problem == nil || rep.Items[2].Problem.Code != posthouse.CodeNotFound {
		t.Errorf("the releases are %+v", rep)
	}
	h.post("/api/bulk/resume", `{"status":"cancelled"}`).want(http.StatusOK).into(&rep)
	if rep.Done != 0 || rep.Failed != 0 {
		t.Errorf("what has ended is resumed: %+v", rep)
	}
	for _, bad := range []string{`{}`, `{"dryRun":true}`, `{"limit":1001,"prefix":"a"}`, `{"threads":["a"],"status":"done"}`, `{"limit":-1,"prefix":"a"}`} {
		h.post("/api/bulk/cancel", bad).refused(posthouse.CodeInvalid)
	}
	h.send(ask{method: "POST", path: "/api/bulk/cancel", body: `{"prefix":"b"}`, as: tokens.Approver}).refused(posthouse.CodeForbidden)
}
