package sqlitestore

import (
	"cmp"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// index adds an id of the entry being appended. A checkpoint's id that is its own order
// key goes into the entry's row: index returns it in cid, unless the entry has one.
func (w *writer) index(t *thread, name string, x *posthouse.IndexedID, cid **layout.Key) error {
	w.key = layout.KeyOf(x.ID)
	k := &w.key
	if *cid != nil && **cid == *k {
		return nil // named twice
	}
	own := x.Header != nil && k.Ordered(x.Order) && *cid == nil
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
		if err := w.order(qAddOrder, layout.CoordinationKey(c), x.Order, w.next); err != nil {
			return err
		}
	}
	switch cmp := layout.CompareKeys(x.Order, t.top); {
	case cmp > 0:
		t.top = x.Order
	case cmp < 0:
		t.mark(layout.FlagDisorder)
	}
	return nil
}

func (t *thread) mark(flag int64) {
	if t.row.Flags&flag == 0 {
		t.row.Flags |= flag
		t.changed = true
	}
}

func (w *writer) addID(t *thread, k *layout.Key) error {
	if k.IsV7() {
		// The id may already be in a row of entries. From now on each of them is looked up.
		if p, err := layout.FindPlace(w.Conn, k); err != nil || p.Entry != 0 {
			return cmp.Or(err, taken(k, t.id, &p))
		}
		if err := layout.SetNumber(w.Conn, layout.NumberUUID7, 1); err != nil {
			return err
		}
		w.hasUUID7 = true
	}
	if err := w.Run(qAddID, k.Param(), w.next); err != nil {
		return err
	}
	if w.Changes() == 1 {
		return nil
	}
	p, err := layout.FindPlace(w.Conn, k)
	return cmp.Or(err, taken(k, t.id, &p))
}

// replace drops an id's place for a new revision, or refuses.
func (w *writer) replace(t *thread, k *layout.Key, allowed bool) error {
	p, err := layout.FindPlace(w.Conn, k)
	if err != nil || p.Entry == 0 {
		return err
	}
	if p.Thread != t.id || !allowed {
		return taken(k, t.id, &p)
	}
	return w.unindex(k, p)
}

func taken(k *layout.Key, thread int64, p *layout.Place) error {
	hint := "choose another id"
	if p.Thread == thread {
		hint = "choose another id, or save with Replace"
	}
	return &posthouse.Error{
		Code: posthouse.CodeExists, Hint: hint,
		Message: fmt.Sprintf("%q is already entry %d of thread %q", k.ID(), p.Seq, p.Name),
	}
}

// drop takes an id of this thread out of the index.
func (w *writer) drop(t *thread, id posthouse.ID) error {
	k := layout.KeyOf(id)
	p, err := layout.FindPlace(w.Conn, &k)
	if err != nil || p.Entry == 0 || p.Thread != t.id {
		return err
	}
	return w.unindex(&k, p)
}

// unindex removes all index rows of an id's newest place.
func (w *writer) unindex(k *layout.Key, p layout.Place) error {
	e, err := layout.EntryAt(w.Conn, p.Entry)
	if err != nil {
		return err
	}
	records, err := e.Records()
	if err != nil {
		return err
	}
	for i := range records {
		if h := records[i].Checkpoint; h != nil && layout.KeyOf(h.ID) == *k {
			return w.unindexHead(k, p, h)
		}
	}
	return w.unindexHead(k, p, nil)
}

// unindexHead is unindex for a known checkpoint's header, nil for a gate.
func (w *writer) unindexHead(k *layout.Key, p layout.Place, h *posthouse.Header) error {
	var err error
	if p.Cid {
		err = w.Run(qDropCID, p.Entry)
	} else {
		err = w.Run(qDropID, k.Param())
	}
	if err != nil || h == nil {
		return err
	}
	if !p.Cid {
		if err := w.order(qDropOrder, 0, h.Order, p.Entry); err != nil {
			return err
		}
	}
	if h.Coordination != h.Thread {
		return w.order(qDropOrder, layout.CoordinationKey(h.Coordination), h.Order, p.Entry)
	}
	return nil
}

func (w *writer) order(sql string, coordination int64, o posthouse.OrderKey, entry int64) error {
	return w.Run(sql, coordination, o[:], entry)
}
