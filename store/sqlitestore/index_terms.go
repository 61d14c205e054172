package sqlitestore

import (
	"context"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// segmentSize is how many entries of a thread make a segment. An index term (the
// hash of a field and its value) has one row for each segment that has it, in the
// table terms, whose column for the segment's number is called stretch. A list reads
// no less than one segment, and a thread that goes on costs no more than some
// rows every so many entries.
const segmentSize = 1024

// maxIndexTerms bounds the terms that a writer remembers of a thread.
const maxIndexTerms = 32

// What a term is of.
const (
	termRun   = 'r'
	termGraph = 'g'
	termNode  = 'n'
	termAgent = 'a'
	termLabel = 'l'
)

// indexTermOf is FNV-1a, cut to the 48 bits that SQLite has an integer of. Two names
// may share a term: what it leads to is always held against the query itself.
func indexTermOf(field byte, name, value string) int64 {
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

// appendIndexTerms adds what lists find the checkpoint by.
func appendIndexTerms(ts []int64, h *posthouse.Header) []int64 {
	ts = writtenIndexTerms(ts, h)
	if !strings.Contains(h.Node, "%") {
		return ts
	}
	for written := range strings.SplitSeq(h.Node, "+") {
		if name, err := posthouse.UnescapeName(written); err == nil && name != written {
			ts = append(ts, indexTermOf(termNode, name, ""))
		}
	}
	return ts
}

// writtenIndexTerms are those of names as they are written: what versions before
// [posthouse.EscapeName] have made for every checkpoint.
func writtenIndexTerms(ts []int64, h *posthouse.Header) []int64 {
	for _, f := range [...]struct {
		field byte
		name  string
	}{{termRun, h.Run}, {termGraph, h.Graph}, {termNode, h.Node}, {termAgent, h.Agent}} {
		if f.name != "" {
			ts = append(ts, indexTermOf(f.field, f.name, ""))
		}
	}
	if strings.Contains(h.Node, "+") { // several nodes, see [posthouse.Query.Node]
		for name := range strings.SplitSeq(h.Node, "+") {
			ts = append(ts, indexTermOf(termNode, name, ""))
		}
	}
	for k, v := range h.Labels {
		ts = append(ts, indexTermOf(termLabel, k, v))
	}
	return ts
}

// queryIndexTerms returns what every checkpoint that matches has.
func queryIndexTerms(q *posthouse.Query) (ts []int64) {
	h := posthouse.Header{Run: q.Run, Graph: q.Graph, Agent: q.Agent}
	if q.Label != "" {
		h.Labels = map[string]string{q.Label: q.LabelValue}
	}
	ts = writtenIndexTerms(nil, &h)
	if q.Node != "" {
		ts = append(ts, indexTermOf(termNode, q.Node, ""))
	}
	return ts
}

// addIndexTerms adds those of the batch's checkpoints that are new to their segment.
func (w *writer) addIndexTerms(t *thread, b *posthouse.Batch) error {
	if s := b.Entry.Seq / segmentSize; s != t.segment {
		t.segment, t.terms = s, t.terms[:0]
	}
	for i := range b.IDs {
		h := b.IDs[i].Header
		if h == nil {
			continue
		}
		w.terms = appendIndexTerms(w.terms[:0], h)
		for _, term := range w.terms {
			if slices.Contains(t.terms, term) {
				continue
			}
			if err := w.term(qAddIndexTerm, term, t.id, t.segment); err != nil {
				return err
			}
			if len(t.terms) == maxIndexTerms {
				t.terms = t.terms[:0]
			}
			t.terms = append(t.terms, term)
		}
	}
	return nil
}

// term adds or drops a row of terms.
func (c *conn) term(statement int, term, thread int64, segment uint64) error {
	stmt, err := c.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, term)
	stmt.BindInt64(2, thread)
	stmt.BindInt64(3, int64(segment))
	return exec(stmt)
}

// An indexTermRow is a row of terms, its thread aside.
type indexTermRow struct {
	term    int64
	segment uint64
}

// indexTermRows are those of a thread's entries.
type indexTermRows map[indexTermRow]bool

func (rows indexTermRows) add(seq uint64, h *posthouse.Header) {
	for _, term := range appendIndexTerms(nil, h) {
		rows[indexTermRow{term, seq / segmentSize}] = true
	}
}

// dropIndexTerms takes out rows of entries that are gone, but for those that what is
// left of a segment needs: it may be left of the one they began in and of the
// one they ended in.
func (w *writer) dropIndexTerms(t *thread, name string, rows indexTermRows, from, below uint64) error {
	if len(rows) == 0 {
		return nil
	}
	t.terms = nil
	for _, s := range [...]uint64{from / segmentSize, below / segmentSize} {
		left, err := w.walk(t.id, name, s*segmentSize, s*segmentSize+segmentSize-1, false, new(posthouse.HeaderReader), indexOnly)
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
				for _, term := range appendIndexTerms(nil, h) {
					delete(rows, indexTermRow{term, s})
				}
			}
		}
	}
	for row := range rows {
		if err := w.term(qDropIndexTerm, row.term, t.id, row.segment); err != nil {
			return err
		}
	}
	return nil
}

// fillIndexTerms makes the rows for a log that was written without them.
func fillIndexTerms(ctx context.Context, c *conn) error {
	threads := map[int64]indexTermRows{}
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
				rows = indexTermRows{}
				threads[id] = rows
			}
			for _, term := range appendIndexTerms(nil, h) {
				row := indexTermRow{term, e.Seq / segmentSize}
				if rows[row] || failed != nil {
					continue
				}
				rows[row] = true
				failed = c.term(qAddIndexTerm, term, id, row.segment)
				if known++; known == 1<<20 {
					clear(threads)
					rows, known = indexTermRows{}, 0
				}
			}
		}
	})
	return first(failed, err)
}
