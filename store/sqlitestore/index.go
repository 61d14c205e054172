package sqlitestore

import (
	"fmt"

	"github.com/posthouse/posthouse"
)

// index adds an id of the entry being appended. A checkpoint's id that is its
// own order key goes into the entry's row: it is returned in cid, unless there
// is one already.
func (w *writer) index(t *thread, name string, x *posthouse.IndexedID, cid **key) error {
	w.key = keyOf(x.ID)
	k := &w.key
	if *cid != nil && **cid == *k {
		return nil // named twice
	}
	own := x.Header != nil && k.ordered(x.Order) && *cid == nil
	if x.Replace || own && w.hasUUID7 {
		if err := w.replace(t, k, x.Replace); err != nil {
			return err
		}
	}
	if own {
		w.cid = *k
		*cid = &w.cid
	} else if err := w.addID(t, k); err != nil {
		return err
	}
	if x.Header == nil {
		return nil
	}
	if !own {
		if err := w.order(qAddOrder, 0, x.Order, w.next); err != nil {
			return err
		}
	}
	if c := x.Header.Coordination; c != "" && c != name {
		if err := w.order(qAddOrder, coordinationKey(c), x.Order, w.next); err != nil {
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

// addID puts an id into ids.
func (w *writer) addID(t *thread, k *key) error {
	if k.isV7() {
		// It could as well be in a row of entries: look there, now and ever after.
		if p, err := w.place(k); err != nil || p.entry != 0 {
			return first(err, taken(k, t.id, &p))
		}
		if err := w.setNumber(numberUUID7, 1); err != nil {
			return err
		}
		w.hasUUID7 = true
	}
	stmt, err := w.stmt(qAddID)
	if err != nil {
		return err
	}
	k.bind(stmt, 1)
	stmt.BindInt64(2, w.next)
	if err := exec(stmt); err != nil {
		return err
	}
	if w.Changes() == 1 {
		return nil
	}
	p, err := w.place(k)
	return first(err, taken(k, t.id, &p))
}

// replace makes room for a new revision of an id that has a place, or refuses.
func (w *writer) replace(t *thread, k *key, allowed bool) error {
	p, err := w.place(k)
	if err != nil || p.entry == 0 {
		return err
	}
	if p.thread != t.id || !allowed {
		return taken(k, t.id, &p)
	}
	return w.unindex(k, p)
}

func taken(k *key, thread int64, p *place) error {
	hint := "choose another id"
	if p.thread == thread {
		hint = "choose another id, or save with Replace"
	}
	return &posthouse.Error{
		Code: posthouse.CodeExists, Hint: hint,
		Message: fmt.Sprintf("%q is already entry %d of thread %q", k.id(), p.seq, p.name),
	}
}

// drop takes an id of this thread out of the index.
func (w *writer) drop(t *thread, id posthouse.ID) error {
	k := keyOf(id)
	p, err := w.place(&k)
	if err != nil || p.entry == 0 || p.thread != t.id {
		return err
	}
	return w.unindex(&k, p)
}

// unindex takes away every index row of an id's newest place.
func (w *writer) unindex(k *key, p place) error {
	e, err := w.entry(p.entry)
	if err != nil {
		return err
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	for i := range records {
		if h := records[i].Checkpoint; h != nil && keyOf(h.ID) == *k {
			return w.unindexHead(k, p, h)
		}
	}
	return w.unindexHead(k, p, nil)
}

// unindexHead is unindex with the checkpoint's header at hand; nil for a gate.
func (w *writer) unindexHead(k *key, p place, h *posthouse.Header) error {
	statement := qDropID
	if p.cid {
		statement = qDropCID
	}
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	if p.cid {
		stmt.BindInt64(1, p.entry)
	} else {
		k.bind(stmt, 1)
	}
	if err := exec(stmt); err != nil || h == nil {
		return err
	}
	if !p.cid {
		if err := w.order(qDropOrder, 0, h.Order, p.entry); err != nil {
			return err
		}
	}
	if h.Coordination != h.Thread {
		return w.order(qDropOrder, coordinationKey(h.Coordination), h.Order, p.entry)
	}
	return nil
}

// order adds or drops a row of orders.
func (w *writer) order(statement int, coordination int64, o posthouse.OrderKey, entry int64) error {
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, coordination)
	stmt.BindBytes(2, o[:])
	stmt.BindInt64(3, entry)
	return exec(stmt)
}
