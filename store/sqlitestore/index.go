package sqlitestore

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// index adds an id of the entry being appended.
func (w *writer) index(t *thread, name string, x *posthouse.IndexedID) error {
	k := keyOf(x.ID)
	kind := int64(1)
	if x.Header != nil && k.ordered(x.Order) {
		kind = 0
	}
	added, err := w.addID(&k, kind)
	if err != nil {
		return err
	}
	if !added {
		if err := w.replace(t, name, &k, x); err != nil {
			return err
		}
		if added, err = w.addID(&k, kind); err != nil || !added {
			return first(err, corrupt("the index has id %q twice", x.ID))
		}
	}
	if x.Header == nil {
		return nil
	}
	if kind != 0 {
		if err := w.order(qAddOrder, x.Order, w.next); err != nil {
			return err
		}
	}
	if c := x.Header.Coordination; c != "" && c != name {
		if err := w.member(qAddMember, c, x.Order, w.next); err != nil {
			return err
		}
	}
	switch cmp := compareKeys(x.Order, t.top); {
	case cmp > 0:
		t.top = x.Order
	case cmp < 0:
		t.mark(flagDisorder)
	}
	return nil
}

func (t *thread) mark(flag int64) {
	if t.row.flags&flag == 0 {
		t.row.flags |= flag
		t.changed = true
	}
}

func (w *writer) addID(k *key, kind int64) (bool, error) {
	stmt, err := w.stmt(qAddID)
	if err != nil {
		return false, err
	}
	k.bind(stmt, 1)
	stmt.BindInt64(2, kind)
	stmt.BindInt64(3, w.next)
	if err := exec(stmt); err != nil {
		return false, err
	}
	return w.Changes() == 1, nil
}

// replace makes room for a new revision of an id that has a place, or refuses.
func (w *writer) replace(t *thread, name string, k *key, x *posthouse.IndexedID) error {
	p, err := w.place(k)
	if err != nil {
		return err
	}
	if p.thread != t.id || !x.Replace {
		where := "in another thread"
		if p.thread == t.id {
			where = fmt.Sprintf("in thread %q", name)
		}
		return &posthouse.Error{
			Code: posthouse.CodeExists, Message: fmt.Sprintf("id %q is taken %s", x.ID, where),
			Hint: "choose another id, or save with Replace in the thread that has it",
		}
	}
	return w.unindex(t, k, p)
}

// drop takes an id of this thread out of the index.
func (w *writer) drop(t *thread, id posthouse.ID) error {
	k := keyOf(id)
	p, err := w.place(&k)
	if err != nil || p.entry == 0 || p.thread != t.id {
		return err
	}
	return w.unindex(t, &k, p)
}

// unindex takes away every index row of an id's newest place.
func (w *writer) unindex(t *thread, k *key, p place) error {
	e, err := w.entry(p.entry)
	if err != nil {
		return err
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	t.mark(flagIrregular)
	for i := range records {
		if h := records[i].Checkpoint; h != nil && keyOf(h.ID) == *k {
			return w.unindexHead(k, p, h)
		}
	}
	return w.unindexHead(k, p, nil)
}

// unindexHead is unindex with the checkpoint's header at hand; nil for a gate.
func (w *writer) unindexHead(k *key, p place, h *posthouse.Header) error {
	stmt, err := w.stmt(qDropID)
	if err != nil {
		return err
	}
	k.bind(stmt, 1)
	if err := exec(stmt); err != nil || h == nil {
		return err
	}
	if p.kind != 0 {
		if err := w.order(qDropOrder, h.Order, p.entry); err != nil {
			return err
		}
	}
	if h.Coordination != h.Thread {
		return w.member(qDropMember, h.Coordination, h.Order, p.entry)
	}
	return nil
}

func (w *writer) order(statement int, o posthouse.OrderKey, entry int64) error {
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindBytes(1, o[:])
	stmt.BindInt64(2, entry)
	return exec(stmt)
}

func (w *writer) member(statement int, coordination string, o posthouse.OrderKey, entry int64) error {
	id, err := w.coordination(coordination)
	if err != nil {
		return err
	}
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, id)
	stmt.BindBytes(2, o[:])
	stmt.BindInt64(3, entry)
	return exec(stmt)
}

// coordination returns the number of a coordination's name, a new one if it
// has none.
func (w *writer) coordination(name string) (int64, error) {
	if id := w.coordinations[name]; id != 0 {
		return id, nil
	}
	stmt, err := w.stmt(qCoordination)
	if err != nil {
		return 0, err
	}
	stmt.BindText(1, name)
	row, err := stmt.Step()
	var id int64
	if row {
		id = stmt.ColumnInt64(0)
	}
	if err = first(err, stmt.Reset()); err != nil {
		return 0, err
	}
	if !row {
		if stmt, err = w.stmt(qAddCoordination); err != nil {
			return 0, err
		}
		stmt.BindText(1, name)
		if err := exec(stmt); err != nil {
			return 0, err
		}
		id = w.LastInsertRowID()
	}
	if len(w.coordinations) >= maxKnown {
		clear(w.coordinations)
	}
	w.coordinations[name] = id
	return id, nil
}
