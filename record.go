package posthouse

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A StepInfo is the header of a recorded step result. It takes at most 120 bytes with
// everyday names. The body is the result.
type StepInfo struct {
	Task       string `json:"task"`       // the execution it belongs to
	Name       string `json:"name"`       // as written in the program
	Occurrence uint32 `json:"occurrence"` // counts results of one name in one execution, from 0
	Branch     string `json:"branch,omitempty"`
	Codec      string `json:"codec"`
	Effect     Effect `json:"effect,omitempty"`
	Grant      ID     `json:"grant,omitempty"` // the gate whose decision licensed it
	Unordered  bool   `json:"loose,omitempty"` // a fork copied it from before its step began anew: its place does not count
}

// An Effect says what repeating a step would do to the world.
type Effect uint8

// The effect classes. A recorded success is replayed in every class; the class
// tells people and policies what an unrecorded attempt may have done.
const (
	EffectUnset    Effect = iota
	EffectPure            // computes only
	EffectRead            // reads the world
	EffectWrite           // writes, idempotently
	EffectExternal        // acts on the world once
	EffectHuman           // a person answered
)

var effectNames = [...]string{"", "pure", "read", "write", "external", "human"}

// String returns the name of the class, "" for none.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return "effect(" + strconv.Itoa(int(e)) + ")"
}

// MarshalText writes the class's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalJSON reads a name, and the number that earlier versions wrote.
// [ErrInvalid] for any other text.
func (e *Effect) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseUint(string(b), 10, 8); err == nil && int(n) < len(effectNames) {
		*e = Effect(n)
		return nil
	}
	b = bytes.Trim(b, `"`)
	for i, name := range effectNames {
		if name == string(b) {
			*e = Effect(i)
			return nil
		}
	}
	return Invalid("effect", "%.40q is not a class of effects; those are pure, read, write, external and human", b)
}

// A GateInfo is the header of a gate; the body is the [Gate] as JSON.
type GateInfo struct {
	ID         ID        `json:"id"`
	Name       string    `json:"name"`
	Task       string    `json:"task,omitempty"`
	Occurrence uint32    `json:"occurrence,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	Kind       string    `json:"kind,omitempty"`
	Signal     string    `json:"signal,omitempty"` // of [GateSignal]: what it waits for
	Latch      bool      `json:"latch,omitempty"`
	EscalateAt time.Time `json:"escalateAt,omitzero"`
	Content    Hash      `json:"content,omitzero"`     // digest of what is shown, salted with bytes of the body
	Supersedes ID        `json:"supersedes,omitempty"` // the gate in whose place it asks
}

// A DecideInfo is the header of a decision; the body is the [Decision] as JSON.
type DecideInfo struct {
	Gate    ID      `json:"gate"`
	GateSeq uint64  `json:"gateSeq"`
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"`
}

// A ClaimInfo is a claim on a thread, or its end. It has no body.
type ClaimInfo struct {
	Owner   string `json:"owner"`
	Fence   uint64 `json:"fence"` // grows with each claim of the thread
	Run     string `json:"run,omitempty"`
	Unclaim bool   `json:"unclaim,omitempty"` // the claim is given back
}

// A RemovalInfo attests what was removed from the log. The body lists the removed
// checkpoints, see docs/format.md.
type RemovalInfo struct {
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
	Whole  bool         `json:"whole,omitempty"` // the thread: every entry before this one
	Count  int          `json:"count"`           // checkpoints removed from the current generation
	Heads  []BranchHead `json:"heads,omitempty"` // branches whose head moved; an empty id ends the branch
	Gates  []ID         `json:"gates,omitempty"` // gates that were removed with their checkpoint, and cancelled

	Archived int    `json:"archived,omitempty"` // checkpoints removed from released generations
	Version  uint32 `json:"version,omitempty"`  // this release: all of it but its record
	Left     int    `json:"left,omitempty"`     // with Version: checkpoints that remain in the releases
}

// A BranchHead is where a branch ends.
type BranchHead struct {
	Branch string `json:"branch"`
	Head   ID     `json:"head"`
	Seq    uint64 `json:"seq"`
	Status Status `json:"status,omitempty"`
}

var statusCodes = []Status{StatusSaved, StatusRunning, StatusWaiting, StatusReady, StatusInterrupted, StatusDone, StatusFailed, StatusCancelled}
var kindCodes = []string{"", KindSave, KindInput, KindNode, KindWait, KindUpdate, KindFork, KindFail, KindEvent, KindInner, KindCancel, KindMigrate, KindRestartStep}

// KnownKind reports whether a checkpoint may have the kind.
func KnownKind(kind string) bool { return slices.Contains(kindCodes, kind) }

// KnownStatus reports whether a checkpoint may have the status.
func KnownStatus(s Status) bool { return slices.Contains(statusCodes, s) }

func codeOf[T comparable](table []T, v T) uint64 {
	for i, t := range table {
		if t == v {
			return uint64(i)
		}
	}
	return uint64(len(table))
}

func readCode[T any](r *decoder, table []T) (v T) {
	u := r.Uint()
	if u >= uint64(len(table)) {
		r.Fail("code %d out of range", u)
		return v
	}
	return table[u]
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return canon.AppendUint(b, 0)
	}
	return canon.AppendUint(b, uint64(max(t.UnixMilli(), 1)))
}

// MaxMillis is the end of the year 9999, the last that JSON times can have.
const MaxMillis = 253402300799999

func readTime(r *decoder) time.Time {
	switch ms := r.Uint(); {
	case ms == 0:
		return time.Time{}
	case ms > MaxMillis:
		r.Fail("time out of range")
		return time.Time{}
	default:
		return time.UnixMilli(int64(ms)).UTC()
	}
}

// appendID writes an id; one of our UUIDs takes 17 bytes.
func appendID(b []byte, id ID) []byte {
	if k, ok := id.UUID(); ok {
		return append(append(b, 0), k[:]...)
	}
	return canon.AppendString(append(b, 1), string(id))
}

func readID(r *decoder) ID {
	id, _, _ := readKeyedID(r)
	return id
}

// readKeyedID reads an id and reports whether it is one of our UUIDs, with its bytes.
func readKeyedID(r *decoder) (id ID, k OrderKey, own bool) {
	switch r.Byte() {
	case 0:
		if b := r.Raw(16); b != nil {
			k = OrderKey(b)
		}
		if !k.Valid() {
			r.Fail("not a version 7 UUID")
		}
		return r.id(k), k, true
	case 1:
		id := ID(r.String())
		if _, ok := id.UUID(); ok {
			r.Fail("a UUID in its long form")
		}
		return id, k, false
	}
	r.Fail("bad id")
	return "", k, false
}

// appendGateID writes an id; one with our gate prefix takes 17 bytes.
func appendGateID(b []byte, id ID) []byte {
	if n := len(GatePrefix); len(id) > n && id[:n] == GatePrefix {
		if k, ok := id[n:].UUID(); ok {
			return append(append(b, 2), k[:]...)
		}
	}
	return canon.AppendString(append(b, 1), string(id))
}

func readGateID(r *decoder) ID {
	switch r.Byte() {
	case 1:
		id := ID(r.String())
		if n := len(GatePrefix); len(id) > n && id[:n] == GatePrefix {
			if _, ok := id[n:].UUID(); ok {
				r.Fail("a gate id in its long form")
			}
		}
		return id
	case 2:
		var k OrderKey
		copy(k[:], r.Raw(16))
		if !k.Valid() {
			r.Fail("not a version 7 UUID")
		}
		return GatePrefix + k.ID()
	}
	r.Fail("bad gate id")
	return ""
}

func (rec *Record) append(b []byte, format byte) []byte {
	kind := byte(rec.Kind)
	if rec.Sealed {
		kind |= sealedBit
	}
	b = append(b, kind)
	b = canon.AppendUint(b, uint64(rec.Size))
	if rec.Size > 0 {
		b = append(b, rec.Hash[:]...)
	}
	switch rec.Kind {
	case RecordCheckpoint:
		b = appendCheckpoint(b, rec.Checkpoint)
		b = rec.Parts.append(b)
	case RecordStep:
		b = rec.Step.append(b)
		if format >= entryBound {
			b = appendBool(appendOptionalGateID(b, rec.Step.Grant), rec.Step.Unordered)
		}
	case RecordGate:
		b = rec.Gate.append(b)
		if format >= entryBound {
			b = rec.Gate.appendBound(b)
		}
	case RecordDecision:
		b = rec.Decision.append(b)
	case RecordClaim:
		b = rec.Claim.append(b)
	case RecordRemoval:
		b = rec.Removal.append(b)
	case RecordSignal:
		b = rec.Signal.append(b)
	case RecordTake:
		b = rec.Take.append(b)
	case RecordVote:
		b = rec.Vote.append(b)
	case RecordAssignment:
		b = rec.Assignment.append(b)
	case RecordRelease:
		b = rec.Release.append(b)
	case RecordAudience:
		b = rec.Audience.append(b)
	}
	return b
}

func (rec *Record) read(r *decoder, format byte) {
	kind := r.Byte()
	rec.Kind, rec.Sealed = RecordKind(kind&^sealedBit), kind&sealedBit != 0
	size := r.Uint()
	if size > 1<<40 {
		r.Fail("body of %d bytes", size)
	}
	rec.Size = int(size)
	if rec.Size > 0 {
		copy(rec.Hash[:], r.Raw(32))
	}
	if rec.Sealed && (rec.Size == 0 || !rec.Kind.Seals()) {
		r.Fail("a sealed %s of %d bytes", rec.Kind, rec.Size)
	}
	switch rec.Kind {
	case RecordCheckpoint:
		rec.Checkpoint, rec.own = readCheckpoint(r)
		rec.Parts.read(r)
	case RecordStep:
		if rec.Step = readStep(r); format >= entryBound {
			rec.Step.Grant = readOptionalGateID(r)
			rec.Step.Unordered = readBool(r)
		}
	case RecordGate:
		if rec.Gate = readGate(r); format >= entryBound {
			rec.Gate.readBound(r)
		}
	case RecordDecision:
		rec.Decision = readDecision(r)
	case RecordClaim:
		rec.Claim = readClaim(r)
	case RecordRemoval:
		rec.Removal = readRemoval(r)
	case RecordSignal:
		rec.Signal = readSignal(r)
	case RecordTake:
		rec.Take = readTake(r)
	case RecordVote:
		rec.Vote = readVote(r)
	case RecordAssignment:
		rec.Assignment = readAssign(r)
	case RecordRelease:
		rec.Release = readRelease(r)
	case RecordAudience:
		rec.Audience = readAudience(r)
	default:
		r.Fail("record of unknown kind %d", rec.Kind)
	}
}

// check checks a record against its entry: it must not refer to that entry or a later
// one, so that references always end.
func (rec *Record) check(e *Entry, r *decoder) {
	rec.checkTrail(e, r)
	switch {
	case rec.Checkpoint != nil:
		c := rec.Checkpoint
		if c.Coordination == e.Thread && c.Coordination != "" {
			r.Fail("a coordination that is the thread, in its long form")
		}
		if c.ParentSeq >= e.Seq && c.ParentSeq != 0 {
			r.Fail("a parent in entry %d", c.ParentSeq)
		}
		if far := rec.Parts.farthest(); far >= e.Seq && far != 0 {
			r.Fail("a reference %d entries back", far)
		}
	case rec.Decision != nil && (rec.Decision.GateSeq == 0 || rec.Decision.GateSeq > e.Seq):
		r.Fail("a decision about a gate in entry %d", rec.Decision.GateSeq)
	case rec.Signal != nil && rec.Signal.Prev >= e.Seq:
		r.Fail("a signal behind one in entry %d", rec.Signal.Prev)
	case rec.Take != nil && (rec.Take.Signal == 0 || rec.Take.Signal > e.Seq):
		r.Fail("a signal taken from entry %d", rec.Take.Signal)
	case rec.Release != nil:
		rec.Release.check(e, r)
	}
}

func (s *StepInfo) append(b []byte) []byte {
	b = canon.AppendString(canon.AppendString(b, s.Task), s.Name)
	b = canon.AppendUint(b, uint64(s.Occurrence))
	b = canon.AppendString(b, branchCode(s.Branch))
	b = appendCodec(b, s.Codec)
	return append(b, byte(s.Effect))
}

func readStep(r *decoder) *StepInfo {
	return &StepInfo{
		Task: r.String(), Name: r.String(), Occurrence: readUint32(r),
		Branch: readBranch(r), Codec: readCodec(r), Effect: Effect(r.Byte()),
	}
}

func (g *GateInfo) append(b []byte) []byte {
	b = canon.AppendString(appendGateID(b, g.ID), g.Name)
	b = canon.AppendString(b, g.Task)
	b = canon.AppendUint(b, uint64(g.Occurrence))
	b = canon.AppendString(b, branchCode(g.Branch))
	b = appendTime(appendTime(b, g.ExpiresAt), g.EscalateAt)
	b = appendGateKind(b, g.Kind)
	return appendAwaited(b, g.Kind, g.Signal, g.Latch)
}

func readGate(r *decoder) *GateInfo {
	g := &GateInfo{
		ID: readGateID(r), Name: r.String(), Task: r.String(), Occurrence: readUint32(r),
		Branch: readBranch(r), ExpiresAt: readTime(r), EscalateAt: readTime(r), Kind: readGateKind(r),
	}
	g.Signal, g.Latch = readAwaited(r, g.Kind)
	return g
}

func (d *DecideInfo) append(b []byte) []byte {
	b = canon.AppendUint(appendGateID(b, d.Gate), d.GateSeq)
	b = canon.AppendUint(b, codeOf(verdictCodes, d.Verdict))
	return canon.AppendString(b, d.By)
}

func readDecision(r *decoder) *DecideInfo {
	return &DecideInfo{Gate: readGateID(r), GateSeq: r.Uint(), Verdict: readCode(r, verdictCodes), By: r.String()}
}

func (c *ClaimInfo) append(b []byte) []byte {
	b = canon.AppendUint(canon.AppendString(b, c.Owner), c.Fence)
	b = canon.AppendString(b, c.Run)
	return appendBool(b, c.Unclaim)
}

func readClaim(r *decoder) *ClaimInfo {
	return &ClaimInfo{Owner: r.String(), Fence: r.Uint(), Run: r.String(), Unclaim: readBool(r)}
}

func (m *RemovalInfo) append(b []byte) []byte {
	b = canon.AppendString(canon.AppendString(b, m.Reason), m.By)
	b = canon.AppendUint(appendBool(b, m.Whole), uint64(m.Count))
	b = canon.AppendUint(canon.AppendUint(b, uint64(m.Archived)), uint64(m.Version))
	b = canon.AppendUint(b, uint64(m.Left))
	b = appendHeads(b, m.Heads)
	b = canon.AppendUint(b, uint64(len(m.Gates)))
	for _, g := range m.Gates {
		b = appendGateID(b, g)
	}
	return b
}

func readRemoval(r *decoder) *RemovalInfo {
	m := &RemovalInfo{Reason: r.String(), By: r.String(), Whole: readBool(r), Count: int(readUint32(r))}
	m.Archived, m.Version, m.Left = int(readUint32(r)), readUint32(r), int(readUint32(r))
	m.Heads = readHeads(r)
	for range r.Items() {
		m.Gates = append(m.Gates, readGateID(r))
	}
	return m
}

// branchCode writes branch main as the empty string.
func branchCode(branch string) string {
	if branch == MainBranch {
		return ""
	}
	return branch
}

func readBranch(r *decoder) string {
	switch s := r.String(); s {
	case "":
		return MainBranch
	case MainBranch:
		r.Fail("branch main in its long form")
		return ""
	default:
		return s
	}
}

// appendCodec writes codec json as the empty string.
func appendCodec(b []byte, codec string) []byte {
	if codec == "json" {
		codec = ""
	}
	return canon.AppendString(b, codec)
}

func readCodec(r *decoder) string {
	switch s := r.String(); s {
	case "":
		return "json"
	case "json":
		r.Fail("codec json in its long form")
		return ""
	default:
		return s
	}
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func readBool(r *decoder) bool {
	c := r.Byte()
	if c > 1 {
		r.Fail("bad boolean")
	}
	return c == 1
}

func readUint32(r *decoder) uint32 {
	u := r.Uint()
	if u > 1<<32-1 {
		r.Fail("%d does not fit 32 bits", u)
	}
	return uint32(u)
}

// sealedBit, in a record's kind, says that its body is sealed.
const sealedBit = 0x80

// Seals reports whether bodies of this kind are sealed in an encrypted store: those
// that people and programs wrote. Removals stay readable, so that a log can be verified
// without a key.
func (k RecordKind) Seals() bool {
	switch k {
	case RecordClaim, RecordRemoval:
		return false
	}
	return true
}
