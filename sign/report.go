package sign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A FaultKind says what kind of damage a [Fault] is.
type FaultKind string

// The kinds of fault.
const (
	FaultHash       FaultKind = "hash"        // an entry does not have the hash it was written with
	FaultBody       FaultKind = "body"        // a record's body does not have the hash it was written with
	FaultMissing    FaultKind = "missing"     // an entry or a body is not there, and no record says why
	FaultChain      FaultKind = "chain"       // an entry does not follow the one before it
	FaultFormat     FaultKind = "format"      // an entry does not decode
	FaultSignature  FaultKind = "signature"   // a signature does not verify
	FaultUnknownKey FaultKind = "unknown-key" // the ring does not have the key: unverifiable, which is not valid
	FaultKeyTime    FaultKind = "key-time"    // signed outside the time the key was in use
	FaultUnsigned   FaultKind = "unsigned"    // no signature covers it, and VerifyOptions.RequireSigned asks for one
	FaultGrant      FaultKind = "grant"       // an effect on the world that no decision licenses
	FaultRecord     FaultKind = "record"      // intact, but it contradicts the records before it
	FaultSummary    FaultKind = "summary"     // the thread's summary is not what its log says
	FaultIndex      FaultKind = "index"       // an id does not lead to its record
	FaultStore      FaultKind = "store"       // the store's own check, or its failure to read
	FaultRewound    FaultKind = "rewound"     // the witness saw a later end of the log
	FaultForked     FaultKind = "forked"      // the witness saw another entry at this place
	FaultVanished   FaultKind = "vanished"    // the witness saw a thread that is not there
)

// FaultKinds returns the kinds of fault.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultHash, FaultBody, FaultMissing, FaultChain, FaultFormat, FaultSignature, FaultUnknownKey, FaultKeyTime,
		FaultUnsigned, FaultGrant, FaultRecord, FaultSummary, FaultIndex, FaultStore, FaultRewound, FaultForked, FaultVanished,
	}
}

// A Fault is one thing that is wrong, with its place as exactly as it is known.
type Fault struct {
	Kind    FaultKind    `json:"kind"`
	Thread  string       `json:"thread,omitempty"`
	Seq     uint64       `json:"seq,omitempty"`     // of the entry
	Through uint64       `json:"through,omitempty"` // of the last entry, if several are missing
	Record  int          `json:"record"`            // its index in the entry; -1: the entry itself
	ID      posthouse.ID `json:"id,omitempty"`      // of the checkpoint or gate that the record is about
	Message string       `json:"message"`           // what is wrong, for a person
}

// String returns the fault on one line.
func (f Fault) String() string {
	s := string(f.Kind)
	if f.Thread != "" {
		s += fmt.Sprintf(": thread %q", f.Thread)
	}
	if f.Seq != 0 {
		s += fmt.Sprintf(" entry %d", f.Seq)
	}
	if f.Through > f.Seq {
		s += fmt.Sprintf(" to %d", f.Through)
	}
	if f.Record >= 0 && f.Seq != 0 {
		s += fmt.Sprintf(" record %d", f.Record)
	}
	if f.ID != "" {
		s += fmt.Sprintf(" (%s)", f.ID)
	}
	return s + ": " + f.Message
}

// A Report is what [Verify] found.
type Report struct {
	Threads     int         `json:"threads"`     // that were walked to their end
	Entries     int         `json:"entries"`     // that were walked
	Records     int         `json:"records"`     // in these entries
	Checkpoints int         `json:"checkpoints"` // kept ones
	Bytes       int64       `json:"bytes"`       // of headers and bodies that were hashed
	Removed     int         `json:"removed"`     // bodies that removal records attest as removed
	Covered     int         `json:"covered"`     // entries that a valid signature covers
	Uncovered   int         `json:"uncovered"`   // entries since a thread's last signature, or of an unsigned thread
	Unsigned    int         `json:"unsigned"`    // threads without any valid signature
	Keys        []KeyReport `json:"keys"`        // keys with signatures, by id
	Witnessed   int         `json:"witnessed"`   // threads that still have what the witness saw
	Faults      []Fault     `json:"faults"`      // in the order they were found

	Granted   int `json:"granted"`             // effects on the world that a decision licenses
	AtWorkers int `json:"atWorkers,omitempty"` // of these, those that workers had as a task
	Attempts  int `json:"attempts,omitempty"`  // how often workers had them
	Unknown   int `json:"unknown,omitempty"`   // effects under a grant with an unknown outcome

	// Ungranted are the first 10,000 effects of class external without a grant, and
	// UngrantedMore counts the rest. They are faults only with VerifyOptions.RequireGrants.
	Ungranted     []Fault `json:"ungranted"`
	UngrantedMore int     `json:"ungrantedMore,omitempty"` // how many there are beyond those listed
}

// A KeyReport counts the signatures of one key.
type KeyReport struct {
	ID         string `json:"id"`
	Known      bool   `json:"known"`      // it is in the ring
	Signatures int    `json:"signatures"` // made with it
	Valid      int    `json:"valid"`      // of these, verified
}

// A ThreadReport is what [Verify] found in one thread.
type ThreadReport struct {
	Thread  string `json:"thread"`
	Entries int    `json:"entries"`
	Last    uint64 `json:"last"`   // the log's last entry
	Signed  uint64 `json:"signed"` // the last entry that a valid signature covers; 0: no entry
	Faults  int    `json:"faults"`
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Faults) == 0 }

func (r *Report) add(t *Report) {
	r.Threads += t.Threads
	r.Entries += t.Entries
	r.Records += t.Records
	r.Checkpoints += t.Checkpoints
	r.Bytes += t.Bytes
	r.Removed += t.Removed
	r.Covered += t.Covered
	r.Uncovered += t.Uncovered
	r.Unsigned += t.Unsigned
	r.Witnessed += t.Witnessed
	r.Faults = append(r.Faults, t.Faults...)
	r.Granted, r.AtWorkers, r.Attempts, r.Unknown = r.Granted+t.Granted, r.AtWorkers+t.AtWorkers, r.Attempts+t.Attempts, r.Unknown+t.Unknown
	for _, f := range t.Ungranted {
		r.ungranted(f)
	}
	r.UngrantedMore += t.UngrantedMore
	for _, k := range t.Keys {
		c := r.key(k.ID)
		c.Known = k.Known
		c.Signatures += k.Signatures
		c.Valid += k.Valid
	}
}

func (r *Report) key(id string) *KeyReport {
	i, ok := slices.BinarySearchFunc(r.Keys, id, func(k KeyReport, id string) int { return cmp.Compare(k.ID, id) })
	if !ok {
		r.Keys = slices.Insert(r.Keys, i, KeyReport{ID: id})
	}
	return &r.Keys[i]
}

// reason returns an error's message without its hint, which would advise to verify.
func reason(err error) string {
	e, ok := errors.AsType[*posthouse.Error](err)
	if !ok {
		return err.Error()
	}
	plain := *e
	plain.Hint = ""
	if plain.Err != nil {
		plain.Err = errors.New(reason(plain.Err))
	}
	return strings.TrimPrefix(plain.Error(), "posthouse: ")
}
