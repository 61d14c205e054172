package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestThreadsAreNarrowed lists threads by label, text and status over HTTP, page by page, with counts
// that follow the same filters.
func TestThreadsAreNarrowed(t *testing.T) {
	h := open(t, nil)
	for thread, x := range map[string]struct {
		status posthouse.Status
		labels map[string]string
	}{
		"order-1234":   {posthouse.StatusDone, map[string]string{"tenant": "acme", "region": "north"}},
		"order-1235":   {posthouse.StatusFailed, map[string]string{"tenant": "acme"}},
		"order-99":     {posthouse.StatusDone, map[string]string{"tenant": "zenith"}},
		"acme-report":  {posthouse.StatusDone, map[string]string{"name": "=a&b%20c"}},
		"bestellung-ä": {posthouse.StatusInterrupted, nil},
	} {
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: x.status, Labels: x.labels, Error: map[bool]string{true: "no"}[x.status == posthouse.StatusFailed],
		}}))(t)
	}
	type page struct {
		Items  []struct{ Thread string }
		Next   string
		Counts map[string]int
	}
	ask1 := func(q url.Values) page {
		t.Helper()
		var p page
		h.send(ask{method: "GET", path: "/api/threads?" + q.Encode(), as: tokens.Viewer}).want(http.StatusOK).into(&p)
		return p
	}
	for _, x := range []struct {
		query, want, counts string
	}{
		{"", "acme-report bestellung-ä order-1234 order-1235 order-99", "done 3 failed 1 interrupted 1"},
		{"q=acme", "acme-report order-1234 order-1235", "done 2 failed 1"},
		{"q=order-", "order-1234 order-1235 order-99", "done 2 failed 1"},
		{"q=1234", "order-1234", "done 1"},
		{"q=34", "", ""},
		{"q=ung-ä", "bestellung-ä", "interrupted 1"},
		{"q=nor", "order-1234", "done 1"},
		{"label=tenant=acme", "order-1234 order-1235", "done 1 failed 1"},
		{"label=tenant=acme&status=failed", "order-1235", "failed 1"},
		{"label=tenant=acme&q=north", "order-1234", "done 1"},
		{"label=name=%3Da%26b%2520c", "acme-report", "done 1"},
		{"label=tenant=ACME", "", ""},
		{"q=%27+OR+1%3D1+--", "", ""},
		{"q=order-%25", "", ""},
		{"q=order_", "", ""},
	} {
		q := must.Get(url.ParseQuery(x.query))(t)
		q.Set("counts", "true")
		all := ask1(q)
		var have, counts []string
		for _, item := range all.Items {
			have = append(have, item.Thread)
		}
		slices.Sort(have)
		for _, s := range slices.Sorted(maps.Keys(all.Counts)) {
			if n := all.Counts[s]; n > 0 {
				counts = append(counts, s+" "+string(rune('0'+n)))
			}
		}
		if got := strings.Join(have, " "); got != x.want || strings.Join(counts, " ") != x.counts {
			t.Errorf("%q finds %q with counts %q, want %q with %q", x.query, got, counts, x.want, x.counts)
		}
		q.Set("limit", "1") // one by one, and the counts stay those of all
		var paged []string
		for {
			p := ask1(q)
			if !maps.Equal(p.Counts, all.Counts) {
				t.Errorf("%q counts %v on a page, and %v on all", x.query, p.Counts, all.Counts)
			}
			for _, item := range p.Items {
				paged = append(paged, item.Thread)
			}
			if p.Next == "" {
				break
			}
			q.Set("cursor", p.Next)
		}
		slices.Sort(paged)
		if !slices.Equal(paged, have) {
			t.Errorf("%q finds %q page by page, want %q", x.query, paged, have)
		}
	}
	h.saved("by-hand", "1")
	if p := ask1(url.Values{"status": {"saved"}}); len(p.Items) != 1 || p.Items[0].Thread != "by-hand" {
		t.Errorf("status=saved finds %v", p.Items)
	}
	h.get("/api/checkpoints?status=saved").refused(posthouse.CodeInvalid)
	for _, bad := range []string{"status=saved&counts=true", "label=tenant", "label==x", "q=" + strings.Repeat("a", 201), "counts=perhaps", "status=lost", "q=a%00b"} {
		h.get("/api/threads?" + bad).refused(posthouse.CodeInvalid)
	}
}
