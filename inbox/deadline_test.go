package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestAListByDeadlineThatFindsLittleSaysSo looks for one gate among many threads with deadlines, in the
// order in which it comes last: the list ends after a bounded number of threads, and says that there may
// be more.
func TestAListByDeadlineThatFindsLittleSaysSo(t *testing.T) {
	d := open(t)
	for i := range 60 {
		d.ask(fmt.Sprint("order-", i), "shop", posthouse.Gate{Name: "refund", ExpiresAt: d.now.Add(time.Duration(i+1) * time.Minute)})
	}
	rare := d.ask("rare", "shop", posthouse.Gate{Name: "refund", Kind: "choice", ExpiresAt: d.now.Add(time.Hour * 9)})
	q := inbox.Query{Everyone: true, Kind: "choice", Order: inbox.ByDeadline, Scan: 50}
	if p := must.Get(inbox.List(t.Context(), d.Ledger, &q))(t); !p.More || len(p.Items) != 0 || p.Next != "" {
		t.Errorf("after 50 threads: %d gates, next %q, more %t; want none, and more", len(p.Items), p.Next, p.More)
	}
	for _, q := range []inbox.Query{{Everyone: true, Kind: "choice", Order: inbox.ByDeadline, Scan: 61}, {Everyone: true, Kind: "choice", Order: inbox.Oldest}, {Everyone: true, Kind: "choice", Order: inbox.ByDeadline}} {
		if p := must.Get(inbox.List(t.Context(), d.Ledger, &q))(t); p.More || len(p.Items) != 1 || p.Items[0].Gate.ID != rare {
			t.Errorf("%+v: %d gates, more %t; want the one", q, len(p.Items), p.More)
		}
	}
	c := must.Get(inbox.Count(t.Context(), d.Ledger, &inbox.Query{Everyone: true}, 20))(t)
	if !c.More || c.Questions["refund"] != 20 {
		t.Errorf("20 of 61 are counted as %+v", c)
	}
	if c := must.Get(inbox.Count(t.Context(), d.Ledger, &inbox.Query{Everyone: true}, 61))(t); c.More || c.Questions["refund"] != 61 {
		t.Errorf("61 of 61 are counted as %+v", c)
	}
}
