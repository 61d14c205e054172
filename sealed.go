package posthouse

import (
	"context"

	"github.com/posthouse/posthouse/internal/canon"
)

// sealedBit in a record's kind says that its body is sealed.
const sealedBit = 0x80

// seals reports whether bodies of this kind are sealed where there are keys:
// what people and programs wrote. Removals stay readable, so that a log can be
// verified without any key.
func (k RecordKind) seals() bool {
	switch k {
	case RecordClaim, RecordRemoval:
		return false
	}
	return true
}

// Forms of a sealed body, its first byte.
const sealedGCM = 1 // then a nonce of 12 bytes, and AES-256-GCM of a pack

const domainSealed = "posthouse/sealed/1"

// place is what a sealed body is bound to: there it opens, and nowhere else.
func (k dataKeyOf) place(seq uint64, record int, kind RecordKind) []byte {
	b := canon.AppendString(make([]byte, 0, len(domainSealed)+len(k.thread)+32), domainSealed)
	b = canon.AppendUint(canon.AppendString(b, k.thread), uint64(k.generation))
	b = canon.AppendUint(canon.AppendUint(b, seq), uint64(record))
	return append(b, byte(kind), sealedGCM)
}

// sealBodies compresses and seals the bodies of the entry in the making.
func (a *appending) sealBodies() error {
	of := dataKeyOf{a.t.name, max(a.t.info.Generation, 1)}
	var key *dataKey
	for i, body := range a.bodies {
		kind := a.records[i].Kind
		if len(body) == 0 || !kind.seals() {
			continue
		}
		if key == nil {
			if err := a.needKey(of); err != nil {
				return err
			}
			var err error
			if key, err = a.l.dataKey(a.ctx, of); err != nil {
				return err
			}
		}
		pack, err := a.l.packer.Pack([][]byte{body})
		if err != nil {
			return tooLarge("body", len(body), a.l.opt.MaxState)
		}
		out := append(make([]byte, 0, 1+len(pack)+key.Overhead()), sealedGCM)
		a.bodies[i] = key.Seal(out, nil, pack, of.place(a.seq, i, kind))
		a.records[i].Sealed = true
	}
	return nil
}

// needKey makes the thread's data key if nothing is sealed with one yet, in a
// store that is marked as encrypted. Where something is sealed, a key that is
// gone must not be replaced.
func (a *appending) needKey(of dataKeyOf) error {
	if a.l.opt.Cipher != nil {
		if err := a.l.sealing(a.ctx); err != nil {
			return err
		}
	}
	if a.t.info.Sealed || a.l.keys.get(of) != nil {
		return nil
	}
	return a.l.makeDataKey(a.ctx, of)
}

// opened is [Entry.Check], after which the bodies are what they were before they
// were sealed. Whoever reads entries for what is in their bodies reads them so.
func (l *Core) opened(ctx context.Context, e *Entry) ([]Record, error) {
	recs, err := e.check()
	if err != nil {
		return recs, err
	}
	var opened [][]byte
	for i := range e.Bodies {
		if !recs[i].Sealed || len(e.Bodies[i]) == 0 {
			continue
		}
		body, err := l.open(ctx, e, recs, i)
		if err != nil {
			return recs, err
		}
		if opened == nil {
			opened = append(opened, e.Bodies...)
		}
		opened[i] = body
	}
	if opened != nil {
		e.Bodies = opened
	}
	return recs, nil
}

// open returns a record's body as it was before it was sealed.
func (l *Core) open(ctx context.Context, e *Entry, recs []Record, i int) ([]byte, error) {
	body := e.Bodies[i]
	if !recs[i].Sealed || len(body) == 0 {
		return body, nil
	}
	of := dataKeyOf{e.Thread, e.Generation}
	key, err := l.dataKey(ctx, of)
	if err != nil {
		return nil, err
	}
	if body[0] != sealedGCM {
		return nil, &Error{
			Code: CodeNewer, Message: "a body was sealed in a form that this version does not know", Hint: "use the version of posthouse that wrote it",
		}
	}
	pack, err := key.Open(nil, nil, body[1:], of.place(e.Seq, i, recs[i].Kind))
	if err != nil {
		return nil, of.sealed(nil, "run posthouse verify; docs/operations.md says how to get it back from a backup",
			"its data key (wrapped with key %q) does not open record %d of entry %d: the key is another thread's, or the body was sealed for another place",
			key.wrappedBy, i, e.Seq)
	}
	items, err := l.packer.Unpack(pack)
	if err != nil || len(items) != 1 {
		return nil, corrupt("record %d of entry %d of thread %q does not unpack", i, e.Seq, e.Thread)
	}
	return items[0], nil
}
