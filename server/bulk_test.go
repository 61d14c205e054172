package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"testing"
	"time"

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

// A listingStore calls a function once threads were listed, before anybody acts on them.
type listingStore struct {
	posthouse.Store
	listed func()
}

func (s *listingStore) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for t, err := range s.Store.Threads(ctx, q) {
			if !yield(t, err) {
				return
			}
		}
		s.listed()
	}
}

// TestBulkLooksAgain: a thread that has gone on since it was listed is left alone, unless the filter
// still names it.
func TestBulkLooksAgain(t *testing.T) {
	h := open(t, nil)
	_, g := h.waiting("a")
	h.waiting("b")
	store := &listingStore{Store: h.store, listed: func() {}}
	b := h.another(store, time.Now)
	store.listed = func() {
		_, err := h.ledger.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		if err != nil && !errors.Is(err, posthouse.ErrDecided) {
			t.Error(err)
		}
	}
	var rep bulk.Report
	b.direct(ask{method: "POST", path: "/api/bulk/cancel", body: `{"status":"waiting"}`}).want(http.StatusOK).into(&rep)
	if rep.Done != 1 || rep.Failed != 0 || len(rep.Items) != 2 || rep.Items[0].Status != posthouse.StatusReady || len(rep.Items[0].Branches) != 0 || len(rep.Items[1].Branches) != 1 {
		t.Errorf("the report is %+v", rep)
	}
	if info := must.Get(h.ledger.Thread(t.Context(), "a"))(t); info.Status != posthouse.StatusReady {
		t.Errorf("a thread that was approved meanwhile is %s", info.Status)
	}
}

// TestBulkTellsWhatItDid in a request that takes too long, and goes on from there.
func TestBulkTellsWhatItDid(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Wait = time.Nanosecond })
	for i := range 3 {
		h.waiting(fmt.Sprint("a", i))
	}
	after, done := "", 0
	for range 3 {
		var rep bulk.Report
		h.post("/api/bulk/cancel", `{"prefix":"a","after":"`+after+`"}`).want(http.StatusOK).into(&rep)
		done += rep.Done
		after = rep.Next
		if len(rep.Items) != 1 || (after == "") != (done == 3) {
			t.Fatalf("after %d: %+v", done, rep)
		}
	}
}

// TestBulkReleasePlansAsItReleases: a thread that a run has is a failure of both.
func TestBulkReleasePlansAsItReleases(t *testing.T) {
	h := open(t, nil)
	h.waiting("a")
	h.waiting("b")
	shared := &listingStore{Store: h.store, listed: func() {}} // as a store of several processes
	server, other := h.another(shared, time.Now), h.another(shared, time.Now)
	claim := must.Get(other.ledger.Claim(t.Context(), "b", "run"))(t)
	must.Get(claim.Persist(t.Context()))(t)
	for _, body := range []string{`{"threads":["a","b"],"dryRun":true}`, `{"threads":["a","b"]}`} {
		var rep bulk.Report
		server.direct(ask{method: "POST", path: "/api/bulk/release", body: body}).want(http.StatusOK).into(&rep)
		if rep.Done != 1 || rep.Failed != 1 || rep.Items[1].Problem == nil || rep.Items[1].Problem.Code != posthouse.CodeBusy {
			t.Errorf("%s: %+v", body, rep)
		}
	}
	must.Do(t, claim.Release(t.Context()))
}
