package lists

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// A GateList is one of the lists in which a store finds open gates by their ids. A
// store with an index has a row for each list of a waiting gate ([OfGate]),
// and merges the lists that a query names ([ForGates]). A list only finds:
// check what it returns with [MatchGate]. Stores keep these numbers; they
// never change.
type GateList uint64

// The lists that belong to no kind and no person.
const (
	listPeople GateList = 1 // all in the inbox
	listAnyone GateList = 2 // those in it that no marks go with
)

const domainGateKind = "posthouse/gatekind/1"

func listOfKind(kind string) GateList {
	h := canon.Hash(domainGateKind, []byte(kind))
	return GateList(binary.BigEndian.Uint64(h[:]))
}

// outsideInbox are the kinds of gates that the inbox does not show.
var outsideInbox = [...]string{posthouse.GateTimer, posthouse.GateSignal, posthouse.GateThread, posthouse.GateSession, posthouse.GateTask}

// OfGate returns the lists that an open gate is in, each once.
func OfGate(w *posthouse.WaitingGate) []GateList {
	kind := listOfKind(w.Kind)
	switch {
	case !posthouse.InInbox(w.Kind):
		return []GateList{kind}
	case w.Audience == nil:
		return []GateList{kind, listPeople, listAnyone}
	}
	all := append(make([]GateList, 0, 4), kind, listPeople)
	for m := range w.Audience.Marks() {
		all = append(all, GateList(m))
	}
	return all
}

// ForGates returns the lists that hold every gate that a query selects. A gate is in one of them
// only, unless hashes collide.
func ForGates(q *posthouse.ThreadQuery) []GateList {
	person := []GateList{GateList(posthouse.PersonMark(q.Person)), listAnyone}
	switch {
	case q.GateKind != "" && (q.Person == "" || !posthouse.InInbox(q.GateKind)):
		return []GateList{listOfKind(q.GateKind)}
	case q.Person != "" && (q.People || q.GateKind != ""):
		return person
	case q.People:
		return []GateList{listPeople}
	}
	all := []GateList{listPeople}
	if q.Person != "" {
		all = person
	}
	for _, kind := range outsideInbox {
		all = append(all, listOfKind(kind))
	}
	return all
}

// MatchGate reports whether an open gate passes the filters of a query for gates. It ignores
// the cursor.
func MatchGate(q *posthouse.ThreadQuery, w *posthouse.WaitingGate) bool {
	return (q.GateKind == "" || q.GateKind == w.Kind) && (!q.People || posthouse.InInbox(w.Kind)) &&
		(q.Person == "" || w.Audience == nil || w.Audience.Has(posthouse.PersonMark(q.Person)))
}

// WithGate returns a thread's summary with one of its open gates in Waiting, as queries for
// gates yield it. It shares everything else with t.
func WithGate(t *posthouse.ThreadInfo, w *posthouse.WaitingGate) *posthouse.ThreadInfo {
	one := *t
	one.Waiting = []posthouse.WaitingGate{*w}
	return &one
}

// Gates returns what a query for gates yields of one thread.
func Gates(q *posthouse.ThreadQuery, t *posthouse.ThreadInfo) (found []*posthouse.ThreadInfo) {
	for i := range t.Waiting {
		if w := &t.Waiting[i]; MatchGate(q, w) && q.Behind(string(w.ID)) && q.Match(t) {
			found = append(found, WithGate(t, w))
		}
	}
	slices.SortFunc(found, func(a, b *posthouse.ThreadInfo) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.Waiting[0].ID, b.Waiting[0].ID)
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}
