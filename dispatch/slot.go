package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A record is what a task's slot holds.
type record struct {
	Call    posthouse.ID `json:"call"`              // whose slot it is: another call finds nothing
	Gate    posthouse.ID `json:"gate"`              // of the attempt that was claimed last
	Session string       `json:"session,omitempty"` // that has it; "" is nobody
	Worker  string       `json:"worker,omitempty"`
	Saves   uint64       `json:"saves,omitempty"`  // number of the claim's last save
	Sealed  uint32       `json:"sealed,omitempty"` // the generation whose data key the value is sealed with; 0: it is not

	revision uint64 // of the slot that it was read from
	value    []byte // what the handler saved, nil for nothing; in the slot behind the JSON
}

// sumSize is how many bytes of a SHA-256 a slot begins with. Not every store has checksums
// of slots.
const sumSize = 8

// encode writes a sum of what follows, the length of the JSON, the JSON, and the value. A
// value that is there but empty is marked, because a handler may tell it from none.
func (r *record) encode() ([]byte, error) {
	head, err := json.Marshal(struct {
		*record
		Saved bool `json:"saved,omitempty"`
	}{r, r.value != nil})
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, sumSize, sumSize+len(head)+len(r.value)+4), uint64(len(head)))
	b = append(append(b, head...), r.value...)
	sum := sha256.Sum256(b[sumSize:])
	copy(b, sum[:sumSize])
	return b, nil
}

func (r *record) decode(b []byte) error {
	if len(b) < sumSize {
		return errors.New("it is cut off")
	}
	sum := sha256.Sum256(b[sumSize:])
	if !bytes.Equal(sum[:sumSize], b[:sumSize]) {
		return errors.New("its sum is another")
	}
	b = b[sumSize:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return errors.New("it has no head")
	}
	head := struct {
		*record
		Saved bool `json:"saved"`
	}{record: r}
	if err := json.Unmarshal(b[n:n+int(size)], &head); err != nil {
		return err
	}
	if r.value = nil; head.Saved {
		r.value = append([]byte{}, b[n+int(size):]...)
	}
	return nil
}

// stepOf names a task's step in its thread: the execution that asked, and the name of the
// call in it. It is the same for all attempts.
func stepOf(g *posthouse.Gate) string {
	name := g.Task + "/" + strings.TrimPrefix(g.Name, "task:")
	if g.Occurrence > 0 {
		name += "[" + strconv.FormatUint(uint64(g.Occurrence), 10) + "]"
	}
	if g.Branch != posthouse.MainBranch {
		name = g.Branch + ":" + name
	}
	if len(name) > posthouse.MaxID {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:posthouse.MaxID-17], "") + "~" + hex.EncodeToString(sum[:8])
	}
	return name
}

func slotKey(g *posthouse.Gate) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: g.Thread, Step: stepOf(g)}
}

// readSlot returns a task's slot, an empty record for one that is not there or is another
// call's.
func (d *Dispatcher) readSlot(ctx context.Context, g *posthouse.Gate) (record, posthouse.Slot, error) {
	empty := record{Call: g.Call.ID}
	slot, err := d.core.Store.Slot(ctx, slotKey(g), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return empty, posthouse.Slot{}, nil
	}
	if err != nil {
		return empty, slot, err
	}
	var r record
	if err := r.decode(slot.Value); err != nil {
		return empty, slot, posthouse.Corrupt("slot %q of thread %q is not a task's: %v", stepOf(g), g.Thread, err)
	}
	if r.Call != g.Call.ID {
		r = empty
	}
	if r.Sealed > 0 && r.value != nil {
		if r.value, err = core.OpenSlot(ctx, d.core, core.DataKeyOf{Thread: g.Thread, Generation: r.Sealed}, stepOf(g), r.value); err != nil {
			return empty, slot, err
		}
	}
	r.revision = slot.Revision
	return r, slot, nil
}

// isUnreadable reports whether an error says that stored bytes are damaged, or that their key
// is not at hand: another look would find the same.
func isUnreadable(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

// writeSlot writes a task's slot under a fence, on the expected revision.
func (d *Dispatcher) writeSlot(ctx context.Context, g *posthouse.Gate, r *record, revision, fence uint64) (posthouse.Slot, error) {
	kept := *r
	if r.Sealed > 0 && r.value != nil {
		var err error
		if kept.value, err = core.SealSlot(ctx, d.core, core.DataKeyOf{Thread: g.Thread, Generation: r.Sealed}, stepOf(g), r.value); err != nil {
			return posthouse.Slot{}, err
		}
	}
	value, err := kept.encode()
	if err != nil {
		return posthouse.Slot{}, err
	}
	return d.core.Store.Slot(ctx, slotKey(g), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision, Fence: fence})
}
