package sqlitestore

import (
	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// gates checks that each open gate of the thread has its rows.
func (t *threadCheck) gates() error {
	info, err := t.c.summaryOf(t.id)
	if err != nil || info == nil {
		return err
	}
	for _, g := range openGates(info.Waiting) {
		for _, list := range g.lists() {
			t.gateRows++
			found := false
			if err := t.c.query(qHasGate, func(stmt *sqlite.Stmt) {
				stmt.BindInt64(1, int64(list))
				stmt.BindText(2, string(g.id))
				stmt.BindInt64(3, t.id)
			}, func(*sqlite.Stmt) { found = true }); err != nil {
				return err
			}
			if !found {
				t.differs("gate %q of thread %q waits and is missing from the index of open gates", g.id, t.name)
				break
			}
		}
	}
	return nil
}

// openGates checks that no other gate has a row. Only if their number says that
// there may be one, each is looked at.
func (k *checker) openGates(c *conn) (bool, error) {
	n := 0
	if err := c.query(qCountGates, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) { n = stmt.ColumnInt(0) }); err != nil || n == k.gateRows {
		return false, err
	}
	var failed error
	err := c.query(qCheckGates, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) {
		if failed = first(failed, k.ctx.Err()); failed != nil {
			return
		}
		list, id := posthouse.GateList(stmt.ColumnInt64(0)), posthouse.ID(stmt.ColumnText(1))
		info, err := c.summaryOf(stmt.ColumnInt64(2))
		switch {
		case refused(err):
			return // it was told with its thread
		case err != nil:
			failed = err
		case info == nil || !waitsIn(info, id, list):
			k.differs("the index of open gates has %q, which does not wait, or not for those it is listed for", id)
		}
	})
	return false, first(err, failed)
}

func waitsIn(info *posthouse.ThreadInfo, id posthouse.ID, list posthouse.GateList) bool {
	for i := range info.Waiting {
		if w := &info.Waiting[i]; w.ID == id {
			for _, have := range w.Lists() {
				if have == list {
					return true
				}
			}
		}
	}
	return false
}
