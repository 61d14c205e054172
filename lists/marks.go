package lists

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// The first bytes of marks. Stores keep marks; they never change.
const (
	markStatus  = "s"
	markProgram = "p"
	markLabel   = "l" // with the value first, so that a search finds it by its beginning
	markEnding  = "e" // the name backwards, byte by byte
)

// Marks returns what an index has a row for of a thread, sorted, each once: its status, its program,
// its labels, and its name backwards. A row has the thread's minute ([posthouse.ThreadInfo.Minute])
// and name, too. Rows of one mark are ordered by these, as [CompareActivity] does. A thread has 19
// marks at most, of 402 bytes at most.
func Marks(t *posthouse.ThreadInfo) []string {
	marks := make([]string, 0, 3+len(t.Labels))
	marks = append(marks, markEnding+reverse(t.Thread))
	if t.Graph != "" {
		marks = append(marks, markProgram+t.Graph)
	}
	if t.Status != "" {
		marks = append(marks, markStatus+string(t.Status))
	}
	for name, value := range t.Labels {
		marks = append(marks, labelMark(name, value))
	}
	slices.Sort(marks)
	return marks
}

// AppendMarks appends the marks of a thread to room, each after its length in two bytes, in the order of
// [Marks]. It makes no objects for a thread of at most one label: stores call it with each commit.
func AppendMarks(room []byte, t *posthouse.ThreadInfo) []byte {
	if len(t.Labels) > 1 {
		for _, m := range Marks(t) {
			room = append(appendSize(room, len(m)), m...)
		}
		return room
	}
	room = append(appendSize(room, len(markEnding)+len(t.Thread)), markEnding...)
	at := len(room)
	room = append(room, t.Thread...)
	slices.Reverse(room[at:])
	for name, value := range t.Labels {
		room = appendSize(room, len(markLabel)+len(value)+1+len(name))
		room = append(append(append(append(room, markLabel...), value...), 0), name...)
	}
	if t.Graph != "" {
		room = append(append(appendSize(room, len(markProgram)+len(t.Graph)), markProgram...), t.Graph...)
	}
	if t.Status != "" {
		room = append(append(appendSize(room, len(markStatus)+len(t.Status)), markStatus...), t.Status...)
	}
	return room
}

func appendSize(room []byte, n int) []byte { return binary.BigEndian.AppendUint16(room, uint16(n)) }

func labelMark(name, value string) string { return markLabel + value + "\x00" + name }

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// Few bounds how many rows of a [Set] a query reads and sorts. If there are more, the query walks
// one list in order instead, where a match is then not far.
const Few = 1000

// A Set is the rows in which one filter of a query finds threads. A thread may be in it twice.
type Set struct {
	Ranges []Range
	Prefix string // not empty: and the threads with names that begin so
}

// A Range is marks from one on, below another, byte by byte. Neither is empty.
type Range struct{ From, To string }

func exact(mark string) Range { return Range{mark, mark + "\x00"} }

func beginning(mark string) Range { return Range{mark, After(mark)} }

// After returns the first text after all that begin with a prefix, byte by byte, and "" if there is
// no such text.
func After(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return string(end)
}

// Walk returns the mark of the list that a query by activity walks, "" for all threads.
func Walk(q *posthouse.ThreadQuery) string {
	switch {
	case q.Label != "":
		return labelMark(q.Label, q.LabelValue)
	case q.Graph != "":
		return markProgram + q.Graph
	case q.Status != "":
		return markStatus + string(q.Status)
	}
	return ""
}

// Sets returns the sets that a query for threads tries, one for each filter: each of them holds
// every match. The store takes the first that has no more than [Few] rows. A query that one list answers in
// order has no sets.
func Sets(q *posthouse.ThreadQuery) (sets []Set) {
	if q.Thread != "" || q.Gates || q.DueBefore != 0 || q.Label == "" && q.Text == "" && q.Graph == "" && q.Status == "" {
		return nil
	}
	if q.Label != "" {
		sets = append(sets, Set{Ranges: []Range{exact(labelMark(q.Label, q.LabelValue))}})
	}
	if q.Text != "" {
		s := Set{Prefix: q.Text, Ranges: []Range{beginning(markLabel + q.Text)}}
		if len(q.Text) >= posthouse.MinEnding {
			s.Ranges = append(s.Ranges, beginning(markEnding+reverse(q.Text)))
		}
		sets = append(sets, s)
	}
	if q.Graph != "" {
		sets = append(sets, Set{Ranges: []Range{exact(markProgram + q.Graph)}})
	}
	if q.Status != "" {
		sets = append(sets, Set{Ranges: []Range{exact(markStatus + string(q.Status))}})
	}
	if len(sets) == 1 && q.Text == "" && q.ByActivity() && q.Prefix == "" && !q.Waiting && !q.Runnable && !q.Leased && !q.Released {
		return nil // Walk is in order
	}
	return sets
}

// A Place is a row that a [Set] found.
type Place struct {
	ID     int64 // the store's own
	Name   string
	Minute posthouse.Millis
}

// Order returns the places of threads that follow the query's cursor, each thread once, in the
// order of the query. It fails as [Follows] does.
func Order(q *posthouse.ThreadQuery, places []Place) ([]Place, error) {
	if _, err := Follows(q, &posthouse.ThreadInfo{}); err != nil {
		return nil, err
	}
	info := func(p *Place) *posthouse.ThreadInfo {
		return &posthouse.ThreadInfo{Thread: p.Name, Updated: p.Minute}
	}
	places = slices.DeleteFunc(places, func(p Place) bool {
		follows, _ := Follows(q, info(&p))
		return !follows
	})
	slices.SortFunc(places, func(a, b Place) int {
		switch {
		case q.ByActivity():
			return CompareActivity(info(&a), info(&b))
		case q.Descending:
			a, b = b, a
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.CompactFunc(places, func(a, b Place) bool { return a.Name == b.Name }), nil
}
