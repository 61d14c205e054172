package posthouse

import (
	"slices"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A RecordKind is the kind of a record. Its numbers are part of the format.
type RecordKind uint8

// The kinds of record.
const (
	RecordCheckpoint RecordKind = 1
	RecordStep       RecordKind = 2
	RecordGate       RecordKind = 3
	RecordDecision   RecordKind = 4
	RecordClaim      RecordKind = 5
	RecordRemoval    RecordKind = 6
	RecordSignal     RecordKind = 7
	RecordTake       RecordKind = 8
	RecordVote       RecordKind = 10
	RecordAssignment RecordKind = 11
	RecordRelease    RecordKind = 9
	RecordAudience   RecordKind = 12
	RecordNote       RecordKind = 13
	RecordNotice     RecordKind = 14
)

var recordNames = map[RecordKind]string{
	RecordCheckpoint: "checkpoint", RecordStep: "step", RecordGate: "gate",
	RecordDecision: "decision", RecordClaim: "claim", RecordRemoval: "removal",
	RecordSignal: "signal", RecordTake: "take",
	RecordVote: "vote", RecordAssignment: "assignment",
	RecordRelease: "release", RecordAudience: "audience",
	RecordNote: "note", RecordNotice: "notice",
}

// String returns the noun, as in logs and JSON.
func (k RecordKind) String() string {
	if s := recordNames[k]; s != "" {
		return s
	}
	return "unknown"
}

// MarshalText writes the noun.
func (k RecordKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote. [ErrInvalid] for another noun.
func (k *RecordKind) UnmarshalText(b []byte) error {
	for kind, name := range recordNames {
		if name == string(b) {
			*k = kind
			return nil
		}
	}
	return Invalid("kind", "%.40q is not a kind of record", b)
}

// A Record is the header of one item in an entry. Exactly one of the pointers
// is set, by its kind.
type Record struct {
	Kind RecordKind `json:"kind"`
	Size int        `json:"size"` // of the body, as it is stored
	Hash Hash       `json:"bodyHash,omitzero"`

	Sealed bool `json:"sealed,omitempty"` // the body is encrypted

	Checkpoint *Header       `json:"checkpoint,omitempty"`
	Step       *StepInfo     `json:"step,omitempty"`
	Gate       *GateInfo     `json:"gate,omitempty"`
	Decision   *DecideInfo   `json:"decision,omitempty"`
	Claim      *ClaimInfo    `json:"claim,omitempty"`
	Removal    *RemovalInfo  `json:"removal,omitempty"`
	Signal     *SignalInfo   `json:"signal,omitempty"`
	Take       *TakeInfo     `json:"take,omitempty"`
	Vote       *VoteInfo     `json:"vote,omitempty"`
	Assignment *AssignInfo   `json:"assignment,omitempty"`
	Release    *ReleaseInfo  `json:"release,omitempty"`
	Audience   *AudienceInfo `json:"audience,omitempty"`
	Note       *NoteInfo     `json:"note,omitempty"`
	Notice     *NoticeInfo   `json:"notice,omitempty"`

	Parts PartList // of a checkpoint
	own   bool     // the checkpoint's id is its order key
}

// clear empties the record, so that another can be read into its memory.
func (rec *Record) clear() {
	rec.Parts.clear()
	*rec = Record{Parts: rec.Parts}
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

var statusCodes = []Status{StatusSaved, StatusRunning, StatusWaiting, StatusReady, StatusInterrupted, StatusDone, StatusFailed, StatusCancelled}
var kindCodes = []string{"", KindSave, KindInput, KindNode, KindWait, KindUpdate, KindFork, KindFail, KindEvent, KindInner, KindCancel, KindMigrate, KindRestartStep}

// KnownKind reports whether a checkpoint may have the kind.
func KnownKind(kind string) bool { return slices.Contains(kindCodes, kind) }

// KnownStatus reports whether a checkpoint may have the status.
func KnownStatus(s Status) bool { return slices.Contains(statusCodes, s) }

// MaxMillis is the end of the year 9999, the last that JSON times can have.
const MaxMillis = 253402300799999

// fields are the record's, in an entry of a format.
func (rec *Record) fields(f *fields, format byte) {
	rec.head(f)
	switch rec.Kind {
	case RecordCheckpoint:
		rec.checkpoint(f)
		rec.Parts.fields(f)
	case RecordStep:
		made(f, &rec.Step).fields(f, format)
	case RecordGate:
		made(f, &rec.Gate).fields(f, format)
	case RecordDecision:
		made(f, &rec.Decision).fields(f)
	case RecordClaim:
		made(f, &rec.Claim).fields(f)
	case RecordRemoval:
		made(f, &rec.Removal).fields(f)
	case RecordSignal:
		made(f, &rec.Signal).fields(f)
	case RecordTake:
		made(f, &rec.Take).fields(f, format)
	case RecordVote:
		made(f, &rec.Vote).fields(f)
	case RecordAssignment:
		made(f, &rec.Assignment).fields(f, format)
	case RecordRelease:
		made(f, &rec.Release).fields(f)
	case RecordAudience:
		made(f, &rec.Audience).fields(f)
	case RecordNote:
		made(f, &rec.Note).fields(f)
	case RecordNotice:
		made(f, &rec.Notice).fields(f)
	default:
		f.Fail("record of unknown kind %d", rec.Kind)
	}
}

// head is what all records begin with: the kind, and length and hash of the body.
func (rec *Record) head(f *fields) {
	kind := byte(rec.Kind)
	if rec.Sealed {
		kind |= sealedBit
	}
	size := uint64(rec.Size)
	f.Octet(&kind)
	if f.Number(&size); size > canon.MaxSize {
		f.Fail("body of %d bytes", size)
	}
	if size > 0 {
		f.Fixed(rec.Hash[:])
	}
	if f.Writing() {
		return
	}
	rec.Kind, rec.Sealed, rec.Size = RecordKind(kind&^sealedBit), kind&sealedBit != 0, int(size)
	if rec.Sealed && (rec.Size == 0 || !rec.Kind.Seals()) {
		f.Fail("a sealed %s of %d bytes", rec.Kind, rec.Size)
	}
}

// format returns the lowest format that can hold the record.
func (rec *Record) format() byte {
	switch s, g, c := rec.Step, rec.Gate, rec.Checkpoint; {
	case rec.Take != nil && rec.Take.Returned:
		return entrySettle
	case g != nil && g.Settles, rec.Decision != nil && rec.Decision.Verdict.rules().Settle, rec.Vote != nil && rec.Vote.Verdict.rules().Settle:
		return entrySettle
	case rec.Assignment != nil && rec.Assignment.TakesBack != 0:
		return entryTaken
	case rec.Notice != nil, g != nil && !g.RemindAt.IsZero():
		return entryNotice
	case rec.Note != nil, s != nil && hasStory(s.Took, s.Attempts), c != nil && hasStory(c.Took, c.Attempts):
		return entryStory
	case s != nil && (s.Grant != "" || s.Unordered), g != nil && (!g.Content.IsZero() || g.Supersedes != ""), c != nil && c.Kind == KindRestartStep:
		return entryBound
	}
	return entryFormat
}

// check checks a record against its entry: it must not refer to that entry or a later
// one, so that references always end.
func (rec *Record) check(e *Entry, f *fields) {
	rec.checkTrail(e, f)
	switch {
	case rec.Checkpoint != nil:
		c := rec.Checkpoint
		if c.Coordination == e.Thread && c.Coordination != "" {
			f.Fail("a coordination that is the thread, in its long form")
		}
		if c.ParentSeq >= e.Seq && c.ParentSeq != 0 {
			f.Fail("a parent in entry %d", c.ParentSeq)
		}
		if far := rec.Parts.farthest(); far >= e.Seq && far != 0 {
			f.Fail("a reference %d entries back", far)
		}
	case rec.Decision != nil && (rec.Decision.GateSeq == 0 || rec.Decision.GateSeq > e.Seq):
		f.Fail("a decision about a gate in entry %d", rec.Decision.GateSeq)
	case rec.Signal != nil && rec.Signal.Prev >= e.Seq:
		f.Fail("a signal behind one in entry %d", rec.Signal.Prev)
	case rec.Take != nil && (rec.Take.Signal == 0 || rec.Take.Signal > e.Seq):
		f.Fail("a signal taken from entry %d", rec.Take.Signal)
	case rec.Release != nil:
		rec.Release.check(e, f)
	case rec.Note != nil && rec.Size == 0:
		f.Fail("a note that says nothing")
	}
}

// A ClaimInfo is a claim on a thread, or its end. It has no body.
type ClaimInfo struct {
	Owner   string `json:"owner"`
	Fence   uint64 `json:"fence"` // grows with each claim of the thread
	Run     string `json:"run,omitempty"`
	Unclaim bool   `json:"unclaim,omitempty"` // the claim is given back
}

func (c *ClaimInfo) fields(f *fields) {
	f.Text(&c.Owner)
	f.Number(&c.Fence)
	f.Text(&c.Run)
	f.Flag(&c.Unclaim)
}
