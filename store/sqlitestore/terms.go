package sqlitestore

import (
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// stretchSize is how many entries of a thread share rows of terms: a list reads
// no less than one stretch, and a thread that goes on costs no more than some
// rows every so many entries.
const stretchSize = 1024

// maxTerms bounds the terms that a writer remembers of a thread.
const maxTerms = 32

// What a term is of.
const (
	termRun   = 'r'
	termGraph = 'g'
	termNode  = 'n'
	termAgent = 'a'
	termLabel = 'l'
)

// termOf is FNV-1a, cut to the 48 bits that SQLite has an integer of. Two names
// may share a term: what it leads to is always held against the query itself.
func termOf(field byte, name, value string) int64 {
	const prime = 1099511628211
	h := (uint64(14695981039346656037) ^ uint64(field)) * prime
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	h *= prime // as for a zero byte between the two
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * prime
	}
	return int64((h ^ h>>47) & (1<<47 - 1))
}

// appendTerms adds what lists find the checkpoint by.
func appendTerms(ts []int64, h *posthouse.Header) []int64 {
	ts = writtenTerms(ts, h)
	if !strings.Contains(h.Node, "%") {
		return ts
	}
	for written := range strings.SplitSeq(h.Node, "+") {
		if name, err := posthouse.UnescapeName(written); err == nil && name != written {
			ts = append(ts, termOf(termNode, name, ""))
		}
	}
	return ts
}

// writtenTerms are those of names as they are written: what versions before
// [posthouse.EscapeName] have made for every checkpoint.
func writtenTerms(ts []int64, h *posthouse.Header) []int64 {
	for _, f := range [...]struct {
		field byte
		name  string
	}{{termRun, h.Run}, {termGraph, h.Graph}, {termNode, h.Node}, {termAgent, h.Agent}} {
		if f.name != "" {
			ts = append(ts, termOf(f.field, f.name, ""))
		}
	}
	if strings.Contains(h.Node, "+") { // several nodes, see [posthouse.Query.Node]
		for name := range strings.SplitSeq(h.Node, "+") {
			ts = append(ts, termOf(termNode, name, ""))
		}
	}
	for k, v := range h.Labels {
		ts = append(ts, termOf(termLabel, k, v))
	}
	return ts
}

// queryTerms returns what every checkpoint that matches has.
func queryTerms(q *posthouse.Query) (ts []int64) {
	h := posthouse.Header{Run: q.Run, Graph: q.Graph, Agent: q.Agent}
	if q.Label != "" {
		h.Labels = map[string]string{q.Label: q.LabelValue}
	}
	ts = writtenTerms(nil, &h)
	if q.Node != "" {
		ts = append(ts, termOf(termNode, q.Node, ""))
	}
	return ts
}

// addTerms adds those of the batch's checkpoints that are new to their stretch.
func (w *writer) addTerms(t *thread, b *posthouse.Batch) error {
	if s := b.Entry.Seq / stretchSize; s != t.stretch {
		t.stretch, t.terms = s, t.terms[:0]
	}
	for i := range b.IDs {
		h := b.IDs[i].Header
		if h == nil {
			continue
		}
		w.terms = appendTerms(w.terms[:0], h)
		for _, term := range w.terms {
			if slices.Contains(t.terms, term) {
				continue
			}
			if err := w.term(qAddTerm, term, t.id, t.stretch); err != nil {
				return err
			}
			if len(t.terms) == maxTerms {
				t.terms = t.terms[:0]
			}
			t.terms = append(t.terms, term)
		}
	}
	return nil
}

// term adds or drops a row of terms.
func (c *conn) term(statement int, term, thread int64, stretch uint64) error {
	stmt, err := c.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, term)
	stmt.BindInt64(2, thread)
	stmt.BindInt64(3, int64(stretch))
	return exec(stmt)
}

// A termRow is a row of terms, its thread aside.
type termRow struct {
	term    int64
	stretch uint64
}

// termRows are those of a thread's entries.
type termRows map[termRow]bool

func (rows termRows) add(seq uint64, h *posthouse.Header) {
	for _, term := range appendTerms(nil, h) {
		rows[termRow{term, seq / stretchSize}] = true
	}
}

// dropTerms takes out rows of entries that are gone, but for those that what is
// left of a stretch needs: it may be left of the one they began in and of the
// one they ended in.
func (w *writer) dropTerms(t *thread, name string, rows termRows, from, below uint64) error {
	if len(rows) == 0 {
		return nil
	}
	t.terms = nil
	for _, s := range [...]uint64{from / stretchSize, below / stretchSize} {
		left, err := w.walk(t.id, name, s*stretchSize, s*stretchSize+stretchSize-1, false, new(posthouse.HeaderReader), indexOnly)
		if err != nil {
			return err
		}
		left.all = true
		for {
			heads, e, err := left.next(context.Background())
			if err != nil || e == nil {
				if err = first(err, left.close()); err != nil {
					return err
				}
				break
			}
			for _, h := range heads {
				for _, term := range appendTerms(nil, h) {
					delete(rows, termRow{term, s})
				}
			}
		}
	}
	for row := range rows {
		if err := w.term(qDropTerm, row.term, t.id, row.stretch); err != nil {
			return err
		}
	}
	return nil
}

// fillTerms makes the rows for a log that was written without them.
func fillTerms(ctx context.Context, c *conn) error {
	threads := map[int64]termRows{}
	known := 0
	var r posthouse.HeaderReader
	var failed error
	err := c.query(qAllHeads, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) {
		if failed = first(failed, ctx.Err()); failed != nil {
			return
		}
		id := stmt.ColumnInt64(0)
		e := posthouse.Entry{Thread: stmt.ColumnText(1), Seq: uint64(stmt.ColumnInt64(2))}
		var heads []*posthouse.Header
		if readHead(&e, columnBytes(stmt, 3)) == nil {
			heads, _ = r.Read(&e) // what does not decode is for verify to find
		}
		for _, h := range heads {
			rows := threads[id]
			if rows == nil {
				rows = termRows{}
				threads[id] = rows
			}
			for _, term := range appendTerms(nil, h) {
				row := termRow{term, e.Seq / stretchSize}
				if rows[row] || failed != nil {
					continue
				}
				rows[row] = true
				failed = c.term(qAddTerm, term, id, row.stretch)
				if known++; known == 1<<20 {
					clear(threads)
					rows, known = termRows{}, 0
				}
			}
		}
	})
	return first(failed, err)
}
