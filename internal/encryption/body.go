package encryption

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// Forms of a sealed body, its first byte.
const sealedGCM = 1 // then a nonce of 12 bytes, and AES-256-GCM of a pack

const domainSealed = "posthouse/sealed/1"

// place binds a sealed body to its place: it opens nowhere else.
func (k DataKeyOf) place(seq uint64, record int, kind posthouse.RecordKind) []byte {
	b := canon.AppendString(make([]byte, 0, len(domainSealed)+len(k.Thread)+32), domainSealed)
	b = canon.AppendUint(canon.AppendString(b, k.Thread), uint64(k.Generation))
	b = canon.AppendUint(canon.AppendUint(b, seq), uint64(record))
	return append(b, byte(kind), sealedGCM)
}

// Seal seals the bodies of an entry's records in place, and marks the records. begun says
// that something of the generation is sealed already: its data key must be there then, and
// a lost one is not replaced.
func (v *Vault) Seal(ctx context.Context, of DataKeyOf, begun bool, seq uint64, recs []posthouse.Record, bodies [][]byte) error {
	var key *dataKey
	for i, body := range bodies {
		kind := recs[i].Kind
		if len(body) == 0 || !kind.Seals() {
			continue
		}
		if key == nil {
			if err := v.needKey(ctx, of, begun); err != nil {
				return err
			}
			var err error
			key, err = v.dataKey(ctx, of)
			if err != nil {
				return err
			}
		}
		pack, err := v.packer.Pack([][]byte{body})
		if err != nil {
			return posthouse.OverMaxState("body", len(body), v.MaxBody)
		}
		out := append(make([]byte, 0, 1+len(pack)+key.Overhead()), sealedGCM)
		bodies[i] = key.Seal(out, nil, pack, of.place(seq, i, kind))
		recs[i].Sealed = true
	}
	return nil
}

// needKey makes the thread's data key if nothing is sealed yet in its generation, in a
// marked store.
func (v *Vault) needKey(ctx context.Context, of DataKeyOf, begun bool) error {
	if v.Cipher != nil {
		if err := v.MarkEncrypted(ctx); err != nil {
			return err
		}
	}
	if begun || v.Keys.Get(of) != nil {
		return nil
	}
	return makeDataKey(ctx, v.Store, v.Cipher, of)
}

// OpenEntry checks an entry like [posthouse.Entry.Check] and opens its bodies, as they
// were before they were sealed.
func (v *Vault) OpenEntry(ctx context.Context, e *posthouse.Entry) ([]posthouse.Record, error) {
	recs, err := e.CheckRecords()
	if err != nil {
		return recs, err
	}
	var opened [][]byte
	for i := range e.Bodies {
		if !recs[i].Sealed || len(e.Bodies[i]) == 0 {
			continue
		}
		body, err := v.OpenBody(ctx, e, recs, i)
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

// OpenBody returns a record's body as it was before it was sealed.
func (v *Vault) OpenBody(ctx context.Context, e *posthouse.Entry, recs []posthouse.Record, i int) ([]byte, error) {
	body := e.Bodies[i]
	if !recs[i].Sealed || len(body) == 0 {
		return body, nil
	}
	of := DataKeyOf{e.Thread, e.Generation}
	key, err := v.dataKey(ctx, of)
	if err != nil {
		return nil, err
	}
	if body[0] != sealedGCM {
		return nil, &posthouse.Error{
			Code: posthouse.CodeNewer, Message: "a body was sealed in a form that this version does not know", Hint: "use the version of posthouse that wrote it",
		}
	}
	pack, err := key.Open(nil, nil, body[1:], of.place(e.Seq, i, recs[i].Kind))
	if err != nil {
		return nil, of.sealed(nil, "run posthouse verify; docs/operations.md says how to get it back from a backup",
			"its data key (wrapped with key %q) does not open record %d of entry %d: the key is another thread's, or the body was sealed for another place",
			key.wrappedBy, i, e.Seq)
	}
	items, err := v.packer.Unpack(pack)
	if err != nil || len(items) != 1 {
		return nil, posthouse.Corrupt("record %d of entry %d of thread %q does not unpack", i, e.Seq, e.Thread)
	}
	return items[0], nil
}
