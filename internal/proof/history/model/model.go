package model

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// The operations, by model.
const (
	Append = "append" // heads: an entry After a position; Next is its own
	Tail   = "tail"   // heads: where the log ends
	Log    = "log"    // heads: all positions of the log

	Get    = "get" // slots
	Put    = "put"
	Delete = "delete"

	Ask    = "ask"    // gates: a question in a thread without one open
	Inbox  = "inbox"  // gates: the open question of the thread
	Decide = "decide" // gates: Value is the decision
	Read   = "read"   // gates: the question with its decision

	Commit  = "commit"  // leases: an entry under a claim; First is one that records the claim
	Release = "release" // leases: the claim is given back
	Lease   = "lease"   // leases: who has the thread
)

// The codes of answers; "" is success. They are those of package posthouse, and Unknown is
// also of an operation without an answer.
const (
	OK       = ""
	Unknown  = "unknown"
	Conflict = "conflict"
	NotFound = "not-found"
	Fenced   = "fenced"
	Decided  = "decided"
	Busy     = "busy"
)

// Any is an expected revision that matches all.
const Any = math.MaxUint64

// An Op is what a client asks for. Key is a thread or a slot; what else counts depends on
// Do.
type Op struct {
	Model string `json:"model,omitempty"` // a name of [All], for whoever sorts operations
	Do    string `json:"do"`
	Key   string `json:"key"`
	After string `json:"after,omitempty"` // a position, "" for an empty log
	Next  string `json:"next,omitempty"`  // a position
	Value string `json:"value,omitempty"` // of a put, or a decision; never given twice
	ID    string `json:"id,omitempty"`    // of a question
	Owner string `json:"owner,omitempty"` // of a lease
	Rev   uint64 `json:"rev,omitempty"`   // the expected revision
	Fence uint64 `json:"fence,omitempty"` // of the claim, or the write to a slot
	First bool   `json:"first,omitempty"`
}

// An Answer is what a client got.
type Answer struct {
	Code  string `json:"code,omitempty"`
	Tail  string `json:"tail,omitempty"`  // of the log, of a conflict too
	Log   string `json:"log,omitempty"`   // positions with a space before each
	Value string `json:"value,omitempty"` // of a slot, or the first decision
	ID    string `json:"id,omitempty"`    // of a question
	Rev   uint64 `json:"rev,omitempty"`
	Fence uint64 `json:"fence,omitempty"`
	Seq   uint64 `json:"seq,omitempty"` // of the entry, or of the last one
	Held  bool   `json:"held,omitempty"`
}

// All are the models by name.
func All() map[string]porcupine.Model {
	return map[string]porcupine.Model{"heads": Heads(), "slots": Slots(), "gates": Gates(), "leases": Leases()}
}

// modelOf makes a model of one key from its first state and its steps. A step returns the
// states that may follow, nil if the answer cannot be.
func modelOf[S comparable](step func(s S, op Op, out Answer) []S) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { var first S; return []any{first} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, s := range step(state.(S), input.(Op), output.(Answer)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
	return m.ToModel()
}

func byKey(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := map[string]int{}
	for _, op := range history {
		key := op.Input.(Op).Key
		i, ok := at[key]
		if !ok {
			i = len(parts)
			at[key], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// when returns the state if a condition holds.
func when[S any](ok bool, s S) []S {
	if ok {
		return []S{s}
	}
	return nil
}
