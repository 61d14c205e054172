package lists

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
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

// Written remembers some terms of a thread's newest segment that have their row. The
// zero value knows of none.
type Written struct {
	segment uint64
	terms   []int64
}

// Add adds the terms of a checkpoint that are new to its segment.
func (k *Written) Add(c *db.Conn, thread int64, seq uint64, h *posthouse.Header) error {
	if s := seq / segmentSize; s != k.segment {
		k.segment, k.terms = s, k.terms[:0]
	}
	var room [16]int64
	for _, term := range appendIndexTerms(room[:0], h) {
		if slices.Contains(k.terms, term) {
			continue
		}
		if err := c.Run(qAddIndexTerm, term, thread, k.segment); err != nil {
			return err
		}
		if len(k.terms) == maxIndexTerms {
			k.terms = k.terms[:0]
		}
		k.terms = append(k.terms, term)
	}
	return nil
}

// An indexTermRow is a row of terms, its thread aside.
type indexTermRow struct {
	term    int64
	segment uint64
}

// Terms are the rows that entries of one thread have.
type Terms map[indexTermRow]bool

// Add adds those of a checkpoint.
func (rows Terms) Add(h *posthouse.Header) {
	for _, term := range appendIndexTerms(nil, h) {
		rows[indexTermRow{term, h.Seq / segmentSize}] = true
	}
}

// Missing looks for the rows of a checkpoint, but for those in seen, and adds to
// seen what it looked for. It reports whether one is not there.
func Missing(c *db.Conn, thread int64, h *posthouse.Header, seen Terms) (missing bool, err error) {
	for _, term := range writtenIndexTerms(nil, h) {
		row := indexTermRow{term, h.Seq / segmentSize}
		if seen[row] {
			continue
		}
		seen[row] = true
		found, err := c.Has(qHasIndexTerm, term, thread, row.segment)
		if err != nil {
			return false, err
		}
		missing = missing || !found
	}
	return missing, nil
}

// Drop takes out the rows of entries that are gone, from one number to below
// another, but for those that what is left of a segment needs: it may be left of
// the one they began in and of the one they ended in.
func (rows Terms) Drop(c *db.Conn, thread int64, name string, from, below uint64) error {
	if len(rows) == 0 {
		return nil
	}
	for _, s := range [...]uint64{from / segmentSize, below / segmentSize} {
		left, err := walkLog(c, thread, name, s*segmentSize, s*segmentSize+segmentSize-1, false, new(posthouse.HeaderReader), indexOnly)
		if err != nil {
			return err
		}
		left.all = true
		for {
			heads, e, err := left.next(context.Background())
			if err != nil || e == nil {
				if err = cmp.Or(err, left.close()); err != nil {
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
		if err := c.Run(qDropIndexTerm, row.term, thread, row.segment); err != nil {
			return err
		}
	}
	return nil
}

// Fill makes the rows for a log that was written without them.
func Fill(ctx context.Context, c *db.Conn) error {
	threads := map[int64]*Written{}
	var r posthouse.HeaderReader
	for stmt, err := range c.Rows(qAllHeads) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		id := stmt.ColumnInt64(0)
		e := posthouse.Entry{Thread: stmt.ColumnText(1), Seq: uint64(stmt.ColumnInt64(2))}
		var heads []*posthouse.Header
		if layout.ReadHead(&e, db.Bytes(stmt, 3)) == nil {
			heads, _ = r.Read(&e) // what does not decode is for verify to find
		}
		if threads[id] == nil {
			threads[id] = &Written{}
		}
		for _, h := range heads {
			if err := threads[id].Add(c, id, e.Seq, h); err != nil {
				return err
			}
		}
	}
	return nil
}
