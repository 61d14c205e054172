package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

// fields write or read what records and summaries encode: what [canon.Fields] know, and the
// names and ids of this package.
type fields struct {
	canon.Fields
	shared *shared // nil: nothing is shared
}

func fieldsOf(b []byte) *fields {
	f := new(fields)
	f.Reset(b, nil)
	return f
}

// made returns what a pointer leads to: a new value, where fields are read.
func made[T any](f *fields, p **T) *T {
	if !f.Writing() {
		*p = new(T)
	}
	return *p
}

// branch is the name of a branch; main is empty.
func (f *fields) branch(name *string) { f.Usually(name, MainBranch, "branch main") }

// codec is the name of a codec; json is empty.
func (f *fields) codec(name *string) { f.Usually(name, "json", "codec json") }

// id is an id; one of our UUIDs takes 17 bytes. For such a one own is true, and k has its bytes.
func (f *fields) id(id *ID) (k OrderKey, own bool) {
	if f.Writing() {
		k, own = id.UUID()
	}
	form := longForm
	if own {
		form = uuidForm
	}
	switch f.Octet(&form); form {
	case uuidForm:
		if f.Fixed(k[:]); !k.Valid() {
			f.Fail("not a version 7 UUID")
		}
		if !f.Writing() {
			*id = f.textOf(k)
		}
		return k, true
	case longForm:
		f.Text((*string)(id))
		if f.Writing() {
			return k, false
		}
		if _, ok := id.UUID(); ok {
			f.Fail("a UUID in its long form")
		}
		return k, false
	}
	f.Fail("bad id")
	*id = ""
	return k, false
}

// The forms of ids.
const (
	uuidForm byte = iota
	longForm
	gateForm // of one with our gate prefix before a UUID
)

// gateID is the id of a gate; one with our prefix takes 17 bytes.
func (f *fields) gateID(id *ID) {
	k, own := OrderKey{}, false
	if f.Writing() {
		k, own = id.gateUUID()
	}
	form := longForm
	if own {
		form = gateForm
	}
	switch f.Octet(&form); form {
	case gateForm:
		f.Fixed(k[:])
		if f.Writing() {
			return
		}
		*id = ""
		if !k.Valid() {
			f.Fail("not a version 7 UUID")
		}
		*id = GatePrefix + k.ID()
	case longForm:
		f.Text((*string)(id))
		if f.Writing() {
			return
		}
		if _, ok := id.gateUUID(); ok {
			f.Fail("a gate id in its long form")
		}
	default:
		f.Fail("bad gate id")
		*id = ""
	}
}

// gateUUID returns the UUID of an id that has our gate prefix before it.
func (id ID) gateUUID() (k OrderKey, ok bool) {
	if n := len(GatePrefix); len(id) > n && id[:n] == GatePrefix {
		return id[n:].UUID()
	}
	return k, false
}

// optionalGateID is a gate's id that may be empty.
func (f *fields) optionalGateID(id *ID) {
	there := *id != ""
	if f.Flag(&there); !there {
		*id = ""
		return
	}
	f.gateID(id)
	if !f.Writing() && f.Err() == nil && *id == "" {
		f.Fail("no gate in its long form")
	}
}

// heads are where branches end.
func (f *fields) heads(list *[]BranchHead) {
	canon.List(&f.Fields, list, func(h *BranchHead) {
		f.branch(&h.Branch)
		f.id(&h.Head)
		f.Number(&h.Seq)
		canon.Code(&f.Fields, &h.Status, statusCodes)
	})
}

func (f *fields) millis(m *Millis) {
	u := uint64(*m)
	if f.Number(&u); !f.Writing() {
		*m = Millis(u)
	}
}
