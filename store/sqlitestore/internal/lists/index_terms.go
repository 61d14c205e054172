package lists

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// segmentSize is how many entries of a thread make a segment. An index term, the hash
// of a field and its value, has one row in table terms for each segment that has it.
// The segment's number is in column stretch. A list reads at least one segment, and a
// growing thread costs a few rows a segment.
const segmentSize = 1024

// maxIndexTerms bounds the terms that a writer remembers for a thread.
const maxIndexTerms = 32

// The field that a term is about.
const (
	termRun   = 'r'
	termGraph = 'g'
	termNode  = 'n'
	termAgent = 'a'
	termLabel = 'l'
)

// indexTermOf hashes a field's name and value to 47 bits, which SQLite stores in six
// bytes. Two names may share a term, so lists match each header with the query.
func indexTermOf(field byte, name, value string) int64 {
	var room [128]byte
	b := append(append(room[:0], field), name...)
	b = append(append(b, 0), value...)
	h := fnv.New64a()
	_, _ = h.Write(b)
	sum := h.Sum64()
	return int64((sum ^ sum>>47) & (1<<47 - 1))
}

// appendIndexTerms adds the terms by which lists find the checkpoint.
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

// writtenIndexTerms adds the terms of names as they are written. Versions before
// [posthouse.EscapeName] made no others.
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

// queryIndexTerms returns the terms that every matching checkpoint has. The first is
// likely to be the rarest.
func queryIndexTerms(q *posthouse.Query) (ts []int64) {
	if q.Run != "" {
		ts = append(ts, indexTermOf(termRun, q.Run, ""))
	}
	if q.Label != "" {
		ts = append(ts, indexTermOf(termLabel, q.Label, q.LabelValue))
	}
	for _, f := range [...]struct {
		field byte
		name  string
	}{{termAgent, q.Agent}, {termNode, q.Node}, {termGraph, q.Graph}} {
		if f.name != "" {
			ts = append(ts, indexTermOf(f.field, f.name, ""))
		}
	}
	return ts
}

// Written remembers terms of a thread's newest segment that have their rows. The zero
// value is empty.
type Written struct {
	segment uint64
	terms   []int64
}

// Add writes the rows for the terms of a checkpoint that are new to its segment.
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

// An indexTermRow is a row of table terms without its thread.
type indexTermRow struct {
	term    int64
	segment uint64
}

// Terms are the rows that entries of one thread have.
type Terms map[indexTermRow]bool

// Add adds the rows of a checkpoint.
func (rows Terms) Add(h *posthouse.Header) {
	for _, term := range appendIndexTerms(nil, h) {
		rows[indexTermRow{term, h.Seq / segmentSize}] = true
	}
}

// Missing reports whether a row of a checkpoint is missing. It skips the rows in seen
// and adds the others to it.
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

// Drop deletes the rows of the removed entries from one number to below another. It
// keeps rows that the rest of the first and of the last segment still needs.
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
		for heads, err := range left.headers(context.Background()) {
			if err != nil {
				return err
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

// Fill writes the rows for logs that were written without them.
func Fill(ctx context.Context, c *db.Conn) error {
	threads := map[int64]*Written{}
	var r posthouse.HeaderReader
	for stmt, err := range c.Rows(qAllHeads) {
		err = cmp.Or(err, ctx.Err())
		if err != nil {
			return err
		}
		id := stmt.ColumnInt64(0)
		e := posthouse.Entry{Thread: stmt.ColumnText(1), Seq: uint64(stmt.ColumnInt64(2))}
		var heads []*posthouse.Header
		if layout.ReadHead(&e, db.Bytes(stmt, 3)) == nil {
			heads, _ = r.Read(&e) // verify reports what does not decode
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
