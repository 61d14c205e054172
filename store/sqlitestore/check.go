package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// Check implements [posthouse.Checker]: SQLite's own integrity check; then for
// each thread that its log chains and has the hashes it was written with, and
// that its rows, summary and index are what the log says; then that the
// indexes have nothing else. Bodies are not read: posthouse verify does that.
// Each thread is looked at as it is at one moment, so writers may go on.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		k := &checker{ctx: ctx}
		steps := []func(*conn) (more bool, err error){k.integrity, k.schema, nil, k.ids, k.orders, k.openGates, k.rest}
		for _, step := range steps {
			if step == nil {
				if !s.checkThreads(k, yield) {
					return
				}
				continue
			}
			for more := true; more; {
				k.found = nil
				err := s.read(ctx, "check", func(c *conn) (err error) {
					more, err = step(c)
					return err
				})
				if err != nil {
					k.found, more = append(k.found, err), false
				}
				for _, err := range k.found {
					if !yield(err) {
						return
					}
				}
				if err != nil && !refused(err) {
					return
				}
			}
		}
	}
}

// A checker goes through the database in steps, each in its own read
// transaction, and collects what it finds.
type checker struct {
	ctx   context.Context
	found []error

	gateRows int // that open gates must have, so far
}

const maxFound = 100 // in one step; a broken thread need not be listed row by row

func (k *checker) differs(format string, args ...any) {
	if len(k.found) < maxFound {
		k.found = append(k.found, corrupt(format, args...))
	}
}

func (k *checker) integrity(c *conn) (bool, error) {
	stop := c.interruptible(k.ctx)
	defer stop()
	stmt, _, err := c.PrepareTransient("PRAGMA integrity_check(100)")
	if err != nil {
		return false, err
	}
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return false, first(k.ctx.Err(), err, stmt.Finalize())
		}
		if t := stmt.ColumnText(0); t != "ok" {
			k.differs("SQLite says: %s", t)
		}
	}
}

// A threadCheck is one thread's log, folded.
type threadCheck struct {
	*checker
	c     *conn
	id    int64
	name  string
	row   threadRow
	top   posthouse.OrderKey
	info  *posthouse.ThreadInfo // as it is stored
	fold  posthouse.ThreadInfo
	met   bool // the fold came to where the stored summary is
	begun bool
	whole bool // the log goes back to its first entry
	gap   bool // but it has a gap

	tail     uint64 // what an append compares with
	highest  posthouse.OrderKey
	disorder bool
	missing  map[posthouse.ID]bool // checkpoints and gates of the log that the index does not lead to
	removed  int                   // what removals attest
	terms    indexTermRows         // those looked up
}

// thread checks one thread.
func (k *checker) thread(c *conn, id int64) error {
	t := &threadCheck{checker: k, c: c, id: id, missing: map[posthouse.ID]bool{}, terms: indexTermRows{}}
	if err := t.load(); err != nil || t.info == nil {
		return err
	}
	if err := t.walk(); err != nil {
		return err
	}
	t.compare()
	return t.gates()
}

func (t *threadCheck) load() error {
	if err := t.c.query(qThreadName, func(stmt *sqlite.Stmt) { stmt.BindInt64(1, t.id) },
		func(stmt *sqlite.Stmt) { t.name = stmt.ColumnText(0) }); err != nil {
		return err
	}
	stmt, err := t.c.stmt(qThread)
	if err != nil {
		return err
	}
	stmt.BindText(1, t.name)
	row, err := stmt.Step()
	if err != nil {
		return err
	}
	if !row {
		t.differs("thread %q has no tail", t.name)
		return stmt.Reset()
	}
	s, err := storedSummary(stmt)
	if errors.Is(err, posthouse.ErrCorrupt) {
		t.differs("the summary of thread %q cannot be read, and is made from its log each time: %v", t.name, err)
		err = t.c.refold(s)
	}
	if err != nil {
		return first(err, stmt.Reset())
	}
	t.row, t.top, t.info, t.tail = s.row, s.top, s.info, s.seq
	return stmt.Reset()
}

// walk folds the log and looks each id up.
func (t *threadCheck) walk() error {
	stmt, err := t.c.stmt(qCheckLog)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, t.id)
	for {
		if err := t.ctx.Err(); err != nil {
			return first(err, stmt.Reset())
		}
		row, err := stmt.Step()
		if err != nil {
			return err
		}
		if !row {
			return stmt.Reset()
		}
		e, err := scanHead(stmt, t.name)
		if err == nil {
			err = t.visit(stmt, e)
		}
		if err != nil {
			return first(err, stmt.Reset())
		}
	}
}

func (t *threadCheck) visit(stmt *sqlite.Stmt, e *posthouse.Entry) error {
	if e.Sum() != e.Hash {
		return corrupt("entry %d of thread %q does not have the hash it was written with", e.Seq, e.Thread)
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	if err := t.follow(e, records); err != nil {
		return err
	}
	id, cid := stmt.ColumnInt64(colID), false
	orphan := false // its checkpoint left the index, so its gates may have
	for i := range records {
		if m := records[i].Removal; m != nil {
			t.removed += m.Count + m.Archived + len(m.Gates)
		}
		h := records[i].Checkpoint
		if h == nil {
			continue
		}
		k := keyOf(h.ID)
		own := isCurrent(stmt, &k) && k.ordered(h.Order)
		cid = cid || own
		current := own
		if !own {
			p, err := t.c.place(&k)
			if err != nil {
				return err
			}
			current = p.entry == id
			if orphan = p.thread != t.id; orphan {
				t.missing[h.ID] = true
			}
		}
		if err := t.checkpoint(h, id, current, own); err != nil {
			return err
		}
	}
	t.meet()
	if !cid && !stmt.ColumnIsNull(colCID) {
		t.differs("entry %d of thread %q is marked as the place of a checkpoint that it does not have", e.Seq, t.name)
	}
	for i := range records {
		if g := records[i].Gate; g != nil && !orphan {
			if err := t.gate(g.ID, e.Seq, id); err != nil {
				return err
			}
		}
		if s := records[i].Signal; s != nil {
			if err := t.gate(s.ID, e.Seq, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow takes the summary that the log makes over one more entry.
func (t *threadCheck) follow(e *posthouse.Entry, records []posthouse.Record) error {
	if !t.begun {
		t.begun, t.whole = true, e.Seq == 1
		if !t.whole {
			t.fold = posthouse.ThreadInfo{Thread: t.name, Generation: e.Generation, Link: e.Prev}
			t.fold.Tail.Seq = e.Seq - 1
		}
	}
	if e.Seq > t.fold.Tail.Seq+1 {
		// A version was dropped here, which may have had their newest revisions,
		// and the highest order key.
		clear(t.missing)
		t.gap = true
	}
	if of := t.info.Tail.Seq; of < e.Seq && (t.fold.Tail.Seq < of || !t.whole && t.fold.Tail.Seq == e.Seq-1) {
		t.met = true // at an entry that is gone
	}
	return t.fold.ApplyRecords(e, records)
}

// checkpoint looks for the rows that a checkpoint must have.
func (t *threadCheck) checkpoint(h *posthouse.Header, entry int64, current, own bool) error {
	switch cmp := compareKeys(h.Order, t.highest); {
	case cmp > 0:
		t.highest = h.Order
	case cmp < 0:
		t.disorder = true
	}
	if !current {
		return nil
	}
	delete(t.missing, h.ID)
	if err := t.hasIndexTerms(h); err != nil {
		return err
	}
	if !own {
		if err := t.hasOrder(h, 0, entry, "the index of order keys"); err != nil {
			return err
		}
	}
	if h.Coordination == t.name {
		return nil
	}
	return t.hasOrder(h, coordinationKey(h.Coordination), entry, "the index of its coordination")
}

// hasIndexTerms looks for what lists find the checkpoint by.
func (t *threadCheck) hasIndexTerms(h *posthouse.Header) error {
	for _, term := range writtenIndexTerms(nil, h) {
		row := indexTermRow{term, h.Seq / segmentSize}
		if t.terms[row] {
			continue
		}
		t.terms[row] = true
		found := false
		if err := t.c.query(qHasIndexTerm, func(stmt *sqlite.Stmt) {
			stmt.BindInt64(1, term)
			stmt.BindInt64(2, t.id)
			stmt.BindInt64(3, int64(row.segment))
		}, func(*sqlite.Stmt) { found = true }); err != nil {
			return err
		}
		if !found {
			t.differs("checkpoint %q of thread %q is missing from the index of runs, graphs, nodes, agents and labels", h.ID, t.name)
		}
	}
	return nil
}

func (t *threadCheck) hasOrder(h *posthouse.Header, coordination, entry int64, where string) error {
	found := false
	err := t.c.query(qHasOrder, func(stmt *sqlite.Stmt) {
		stmt.BindInt64(1, coordination)
		stmt.BindBytes(2, h.Order[:])
		stmt.BindInt64(3, entry)
	}, func(*sqlite.Stmt) { found = true })
	if err == nil && !found {
		t.differs("checkpoint %q of thread %q is missing from %s", h.ID, t.name, where)
	}
	return err
}

func (t *threadCheck) gate(id posthouse.ID, seq uint64, entry int64) error {
	k := keyOf(id)
	p, err := t.c.place(&k)
	switch {
	case err != nil:
		return err
	case p.thread != t.id:
		t.missing[id] = true
	case p.entry != entry && p.seq < seq:
		t.differs("the index leads from gate %q of thread %q to entry %d, which is older than the gate", id, t.name, p.seq)
	default:
		delete(t.missing, id)
	}
	return nil
}

// meet compares the stored summary with the log as far as it is of it.
func (t *threadCheck) meet() {
	if t.fold.Tail.Seq != t.info.Tail.Seq {
		return
	}
	t.met = t.fold.Tail == t.info.Tail
	if !t.whole {
		return
	}
	have, herr := t.info.MarshalBinary()
	log, lerr := t.fold.MarshalBinary()
	if herr != nil || lerr != nil || !bytes.Equal(have, log) {
		t.differs("the summary of thread %q is not what its log says", t.name)
	}
	if cmp := compareKeys(t.top, t.highest); cmp < 0 || cmp > 0 && !t.gap {
		t.differs("the order keys of thread %q are not what its row says", t.name)
	}
}

// compare holds the thread's rows against its log.
func (t *threadCheck) compare() {
	info := t.info
	if t.row != rowOf(info, t.row.flags) {
		t.differs("the columns of thread %q are not what its summary says", t.name)
	}
	if t.tail != info.Tail.Seq {
		t.differs("appends to thread %q wait for entry %d, its summary ends at %d", t.name, t.tail, info.Tail.Seq)
	}
	if info.Thread != t.name {
		t.differs("thread %q has the summary of thread %q", t.name, info.Thread)
	}
	if !t.begun {
		return // every entry was removed
	}
	if !t.met || !t.mayLag() {
		t.differs("the summary of thread %q ends at entry %d, its log at %d", t.name, info.Tail.Seq, t.fold.Tail.Seq)
		return
	}
	if !t.whole {
		return
	}
	if len(t.missing) > t.removed {
		t.differs("%d checkpoints and gates of thread %q were removed, but the index does not lead to %d: %s",
			t.removed, t.name, len(t.missing), few(t.missing))
	}
	if t.disorder && t.row.flags&flagDisorder == 0 {
		t.differs("the order keys of thread %q are not what its row says", t.name)
	}
}

// mayLag reports whether the stored summary may be of the entry it is of.
func (t *threadCheck) mayLag() bool {
	lag := t.fold.Tail.Seq - t.info.Tail.Seq
	return lag == 0 || lag < maxLag && t.row.mayLag() && (!t.whole || t.row == rowOf(&t.fold, t.row.flags))
}

func few(set map[posthouse.ID]bool) string {
	ids := slices.Sorted(maps.Keys(set))
	if len(ids) > 5 {
		return fmt.Sprintf("%q and %d more", ids[:5], len(ids)-5)
	}
	return fmt.Sprintf("%q", ids)
}
