package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// Entries returns what a range must read.
func Entries(es []*posthouse.Entry, r posthouse.Range) (out []*posthouse.Entry) {
	if r.Seqs != nil {
		for _, seq := range r.Seqs {
			for _, e := range es {
				if e.Seq == seq {
					out = append(out, e)
				}
			}
		}
	} else {
		for _, e := range es {
			if e.Seq >= r.From && (r.To == 0 || e.Seq <= r.To) {
				out = append(out, e)
			}
		}
		if r.Reverse {
			slices.Reverse(out)
		}
	}
	if r.Limit > 0 && len(out) > r.Limit {
		out = out[:r.Limit]
	}
	if r.Headers {
		for i, e := range out {
			bare := *e
			bare.Bodies = nil
			out[i] = &bare
		}
	}
	return out
}

// Headers returns what a query must find.
func Headers(hs []*posthouse.Header, q posthouse.Query) (out []*posthouse.Header) {
	for _, h := range hs {
		if q.Match(h) {
			out = append(out, h)
		}
	}
	place := func(k posthouse.OrderKey, seq uint64) string {
		if q.Thread != "" {
			k = posthouse.OrderKey{}
		}
		return fmt.Sprintf("%x %020d", k, seq)
	}
	slices.SortStableFunc(out, func(a, b *posthouse.Header) int {
		return strings.Compare(place(a.Order, a.Seq), place(b.Order, b.Seq))
	})
	if q.Descending {
		slices.Reverse(out)
	}
	if q.After != "" {
		key, seq, err := posthouse.ParseCursor(q.After)
		if err != nil {
			panic("model: a query with a cursor that is none: " + err.Error())
		}
		out = slices.DeleteFunc(out, func(h *posthouse.Header) bool {
			c := strings.Compare(place(h.Order, h.Seq), place(key, seq))
			return c == 0 || c < 0 != q.Descending
		})
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

// Threads returns what a query for threads must find.
func Threads(all []*posthouse.ThreadInfo, q posthouse.ThreadQuery) (out []*posthouse.ThreadInfo) {
	if q.Gates {
		return gates(all, q)
	}
	for _, info := range all {
		if follows, err := lists.Follows(&q, info); err == nil && follows && q.Match(info) {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b *posthouse.ThreadInfo) int {
		if q.DueBefore != 0 && a.Due != b.Due {
			return int(a.Due - b.Due)
		}
		if q.ByActivity() {
			return lists.CompareActivity(a, b)
		}
		if q.Descending {
			a, b = b, a
		}
		return strings.Compare(a.Thread, b.Thread)
	})
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

// gates returns what a query for open gates must find.
func gates(all []*posthouse.ThreadInfo, q posthouse.ThreadQuery) (out []*posthouse.ThreadInfo) {
	for _, info := range all {
		for i := range info.Waiting {
			if w := &info.Waiting[i]; q.Match(info) && lists.MatchGate(&q, w) && q.Behind(string(w.ID)) {
				out = append(out, lists.WithGate(info, w))
			}
		}
	}
	slices.SortFunc(out, func(a, b *posthouse.ThreadInfo) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.Waiting[0].ID, b.Waiting[0].ID)
	})
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}
