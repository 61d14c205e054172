package posthouse

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A GateList is one of the lists in which a store finds open gates by their ids. A
// store with an index has a row for each list of a waiting gate ([WaitingGate.Lists]),
// and merges the lists that a query names ([ThreadQuery.GateLists]). A list only finds:
// check what it returns with [ThreadQuery.MatchGate]. Stores keep these numbers; they
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
var outsideInbox = [...]string{GateTimer, GateSignal, GateThread, GateSession, GateTask}

// Lists returns the lists that the gate is in, each once.
func (w *WaitingGate) Lists() []GateList {
	kind := listOfKind(w.Kind)
	switch {
	case !InInbox(w.Kind):
		return []GateList{kind}
	case w.Audience == nil:
		return []GateList{kind, listPeople, listAnyone}
	}
	lists := append(make([]GateList, 0, 2+len(w.Audience.marks)), kind, listPeople)
	for _, m := range w.Audience.marks {
		lists = append(lists, GateList(m))
	}
	return lists
}

// GateLists returns the lists that hold every gate q selects. A gate is in one of them
// only, unless hashes collide.
func (q *ThreadQuery) GateLists() []GateList {
	person := []GateList{GateList(PersonMark(q.Person)), listAnyone}
	switch {
	case q.GateKind != "" && (q.Person == "" || !InInbox(q.GateKind)):
		return []GateList{listOfKind(q.GateKind)}
	case q.Person != "" && (q.People || q.GateKind != ""):
		return person
	case q.People:
		return []GateList{listPeople}
	}
	lists := []GateList{listPeople}
	if q.Person != "" {
		lists = person
	}
	for _, kind := range outsideInbox {
		lists = append(lists, listOfKind(kind))
	}
	return lists
}

// MatchGate reports whether an open gate passes the filters of q for gates. It ignores
// the cursor.
func (q *ThreadQuery) MatchGate(w *WaitingGate) bool {
	return (q.GateKind == "" || q.GateKind == w.Kind) && (!q.People || InInbox(w.Kind)) &&
		(q.Person == "" || w.Audience == nil || w.Audience.Has(PersonMark(q.Person)))
}

// OfGate returns the summary with one of its open gates in Waiting, as queries for
// gates yield it. It shares everything else with t.
func (t *ThreadInfo) OfGate(w *WaitingGate) *ThreadInfo {
	one := *t
	one.Waiting = []WaitingGate{*w}
	return &one
}

// GatesOf returns what a query for gates yields of one thread.
func (q *ThreadQuery) GatesOf(t *ThreadInfo) (found []*ThreadInfo) {
	for i := range t.Waiting {
		if w := &t.Waiting[i]; q.MatchGate(w) && q.Behind(string(w.ID)) && q.Match(t) {
			found = append(found, t.OfGate(w))
		}
	}
	slices.SortFunc(found, func(a, b *ThreadInfo) int {
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
