package server

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestRetain asks what would go, then takes it: dry runs take nothing, heads
// stay, and only operators may.
func TestRetain(t *testing.T) {
	h := open(t, nil)
	for i := range 5 {
		h.saved("t", fmt.Sprint(i))
	}
	count := func() (n int) {
		for _, err := range h.ledger.List(t.Context(), posthouse.Query{Thread: "t"}) {
			must.Do(t, err)
			n++
		}
		return n
	}
	const policy = `{"maxPerThread":2,"prefix":"t"}`
	h.send(ask{method: "POST", path: "/api/retain", body: policy, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	var dry, other, done retain.Report
	h.post("/api/retain?dryRun=true", policy).want(http.StatusOK).into(&dry)
	if !dry.DryRun || dry.Checkpoints != 3 || dry.Changed != 1 || dry.Bytes == 0 || count() != 5 {
		t.Errorf("a dry run: %+v, %d are left", dry, count())
	}
	h.post("/api/retain?dryRun=true", `{"maxPerThread":2,"coordination":"other"}`).want(http.StatusOK).into(&other)
	if other.Threads != 0 {
		t.Errorf("a dry run for another coordination: %+v", other)
	}
	h.post("/api/retain", `{"maxAge":"2w"}`).want(http.StatusOK).into(&done)
	if done.Checkpoints != 0 || count() != 5 {
		t.Errorf("none is that old: %+v, %d are left", done, count())
	}
	h.post("/api/retain", policy).want(http.StatusOK).into(&done)
	if done.DryRun || done.Checkpoints != dry.Checkpoints || count() != 2 {
		t.Errorf("took %+v, announced %+v; %d are left", done, dry, count())
	}
	for entry, err := range h.ledger.Log(t.Context(), "t", posthouse.Range{Reverse: true, Limit: 1}) {
		must.Do(t, err)
		if rm := entry.Records[0].Removal; rm == nil || rm.By != "operator-token" {
			t.Errorf("on record: %+v", entry.Records[0])
		}
	}
	for _, bad := range []string{`{}`, `{"maxAge":"soon"}`, `{"maxAge":"-1h"}`, `{"maxAge":"9999999d"}`, `{"maxPerThread":-1}`, `{"maxage":"1d"}`, ""} {
		h.post("/api/retain", bad).refused(posthouse.CodeInvalid)
	}
}

// TestRetainThatTakesLong answers with what it came to.
func TestRetainThatTakesLong(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Wait = time.Nanosecond })
	h.saved("t", "1")
	var done retain.Report
	h.post("/api/retain", `{"maxAge":"1d"}`).want(http.StatusAccepted).into(&done)
}

// TestInboxPages walks the inbox in either order, while it changes.
func TestInboxPages(t *testing.T) {
	h := open(t, nil)
	var gates []posthouse.ID
	for i := range 5 {
		_, g := h.waiting(fmt.Sprint("t", i))
		gates = append(gates, g.ID)
	}
	for order, want := range map[string][]int{"asc": {0, 1, 2, 3, 4}, "desc": {4, 3, 2, 1, 0}} {
		path, at := "/api/gates?limit=2&order="+order, 0
		for path != "" {
			var page []posthouse.Gate
			r := h.get(path).want(http.StatusOK)
			r.into(&page)
			for _, g := range page {
				if at == len(want) || g.ID != gates[want[at]] {
					t.Fatalf("%s: gate %d is %s", order, at, g.ID)
				}
				at++
			}
			path = ""
			if r.header.Get(problem.NextCursorHeader) != "" {
				path = "/api/gates?limit=2&order=" + order + "&cursor=" + r.header.Get(problem.NextCursorHeader)
			}
		}
		if at != len(want) {
			t.Errorf("%s: %d of %d gates", order, at, len(want))
		}
	}
	cursor := h.get("/api/gates?order=asc&limit=2").want(http.StatusOK).header.Get(problem.NextCursorHeader)
	h.post("/api/gates/"+string(gates[1])+"/approve", "") // the cursor itself leaves
	var page []posthouse.Gate
	h.get("/api/gates?order=asc&cursor=" + cursor).want(http.StatusOK).into(&page)
	if len(page) != 3 || page[0].ID != gates[2] {
		t.Errorf("behind a decided gate: %+v", page)
	}
}
