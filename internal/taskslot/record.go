package taskslot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Record is what a task's slot holds.
type Record struct {
	Call    posthouse.ID `json:"call"`              // the owner of the slot: another call finds nothing
	Gate    posthouse.ID `json:"gate"`              // of the attempt that was claimed last
	Session string       `json:"session,omitempty"` // that has it; "" if it is free
	Worker  string       `json:"worker,omitempty"`
	Saves   uint64       `json:"saves,omitempty"`  // number of the claim's last save
	Sealed  uint32       `json:"sealed,omitempty"` // the generation of the data key that seals the value; 0: it is not sealed

	Revision uint64 `json:"-"` // of the slot that it was read from
	Value    []byte `json:"-"` // what the handler saved, nil for nothing; in the slot after the JSON
}

// sumSize is how many bytes of a SHA-256 a slot begins with. Not every store has checksums
// of slots.
const sumSize = 8

// Encode writes a sum of what follows, the length of the JSON, the JSON, and the value. A
// value that is there but empty is marked, because a handler may tell it from a missing
// one.
func (r *Record) Encode() ([]byte, error) {
	head, err := json.Marshal(struct {
		*Record
		Saved bool `json:"saved,omitempty"`
	}{r, r.Value != nil})
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, sumSize, sumSize+len(head)+len(r.Value)+4), uint64(len(head)))
	b = append(append(b, head...), r.Value...)
	sum := sha256.Sum256(b[sumSize:])
	copy(b, sum[:sumSize])
	return b, nil
}

// Decode reads what Encode wrote. It copies the value. Its error says what is wrong with the
// bytes.
func (r *Record) Decode(b []byte) error {
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
		*Record
		Saved bool `json:"saved"`
	}{Record: r}
	if err := json.Unmarshal(b[n:n+int(size)], &head); err != nil {
		return err
	}
	r.Value = nil
	if head.Saved {
		r.Value = append([]byte{}, b[n+int(size):]...)
	}
	return nil
}

// Step names a task's step in its thread: the execution that asked, and the name of the
// call in it. It is the same for all attempts.
func Step(g *posthouse.Gate) string { return step(g.Branch, g.Task, g.Name, g.Occurrence) }

// StepOf is [Step] by the header of a gate.
func StepOf(g *posthouse.GateInfo) string { return step(g.Branch, g.Task, g.Name, g.Occurrence) }

func step(branch, execution, call string, occurrence uint32) string {
	name := execution + "/" + strings.TrimPrefix(call, "task:")
	if occurrence > 0 {
		name += "[" + strconv.FormatUint(uint64(occurrence), 10) + "]"
	}
	if branch != posthouse.MainBranch {
		name = branch + ":" + name
	}
	if len(name) > posthouse.MaxID {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:posthouse.MaxID-17], "") + "~" + hex.EncodeToString(sum[:8])
	}
	return name
}

// Key returns the key of a task's slot.
func Key(g *posthouse.Gate) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: g.Thread, Step: Step(g)}
}
