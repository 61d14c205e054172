package check

import (
	"cmp"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// gates checks that each open gate of the thread has its rows.
func (t *threadCheck) gates() error {
	s, err := layout.SummaryAt(t.c, t.id)
	if err != nil || s == nil {
		return err
	}
	for i := range s.Info.Waiting {
		g := &s.Info.Waiting[i]
		for _, list := range lists.OfGate(g) {
			t.gateRows++
			found, err := t.c.Has(qHasGate, int64(list), string(g.ID), t.id)
			if err != nil {
				return err
			}
			if !found {
				t.differs("gate %q of thread %q waits and is missing from the index of open gates", g.ID, t.name)
				break
			}
		}
	}
	return nil
}

// openGates checks that no other gate has a row. It reads the rows only if their number
// differs.
func (k *checker) openGates(c *db.Conn) (bool, error) {
	n := 0
	if _, err := c.Row(qCountGates, func(stmt *sqlite.Stmt) { n = stmt.ColumnInt(0) }); err != nil || n == k.gateRows {
		return false, err
	}
	for stmt, err := range c.Rows(qCheckGates) {
		err = cmp.Or(err, k.ctx.Err())
		if err != nil {
			return false, err
		}
		list, id := lists.GateList(stmt.ColumnInt64(0)), posthouse.ID(stmt.ColumnText(1))
		s, err := layout.SummaryAt(c, stmt.ColumnInt64(2))
		switch {
		case layout.Refused(err): // reported with its thread
		case err != nil:
			return false, err
		case s == nil || !waitsIn(s.Info, id, list):
			k.differs("the index of open gates has %q, which does not wait, or not for those it is listed for", id)
		}
	}
	return false, nil
}

func waitsIn(info *posthouse.ThreadInfo, id posthouse.ID, list lists.GateList) bool {
	for i := range info.Waiting {
		if w := &info.Waiting[i]; w.ID == id {
			return slices.Contains(lists.OfGate(w), list)
		}
	}
	return false
}
