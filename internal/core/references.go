package core

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/posthouse/posthouse/internal/threadlog"
)

// A reference says that bytes of a value are those of a recent result.
type reference struct {
	at     int // where in the value
	result int // index in the results
}

// indexFrom is the product of results and bytes from which an index pays.
const indexFrom = 1 << 20

// maxMisses bounds the results that are searched for in a large value without success.
const maxMisses = 8

// references finds results in data, each at most once, in the order of data and without
// overlap. Its cost is linear in data and the results together.
func references(data []byte, rs []threadlog.Result) []reference {
	if len(data)*len(rs) <= indexFrom {
		return inOrder(data, rs, len(rs))
	}
	found, all := newResultIndex(rs).references(data)
	if !all { // they are too much alike for it
		if more := inOrder(data, rs, maxMisses); covered(more, rs) > covered(found, rs) {
			return more
		}
	}
	return found
}

// inOrder finds results in data in the order of their recording, as a program that
// appends them stores them. It gives up after a number of misses: each one searches the
// rest of data.
func inOrder(data []byte, rs []threadlog.Result, misses int) []reference {
	var found []reference
	from := 0
	for i := range rs {
		if at := bytes.Index(data[from:], rs[i].Data); at >= 0 {
			found = append(found, reference{from + at, i})
			from += at + len(rs[i].Data)
		} else if misses--; misses < 0 {
			break
		}
	}
	return found
}

// covered returns how many bytes the references cover.
func covered(found []reference, rs []threadlog.Result) (n int) {
	for _, f := range found {
		n += len(rs[f.result].Data)
	}
	return n
}

// window is half of [MinRef]: of 63 bytes in a row, 32 begin at a multiple of 32.
const window = threadlog.MinRef / 2

// A resultIndex finds results by their windows: those at 32 consecutive offsets around
// the middle. Wherever a result lies in a value, one of these windows begins at a
// multiple of the window's length. So only multiples are looked up.
type resultIndex struct {
	results []threadlog.Result
	first   []int32 // the first entry with this hash prefix, plus 1; 0: no entry
	entries []windowEntry
}

type windowEntry struct {
	hash   uint64
	result int
	off    int
	next   int32
}

func newResultIndex(rs []threadlog.Result) *resultIndex {
	x := &resultIndex{results: rs, first: make([]int32, 1<<16), entries: make([]windowEntry, 0, len(rs)*window)}
	for i := range rs {
		data := rs[i].Data
		middle := (len(data) - threadlog.MinRef + 1) / 2
		for off := middle; off < middle+window; off++ {
			h := windowHash(data[off:])
			head := &x.first[h>>48]
			x.entries = append(x.entries, windowEntry{h, i, off, *head})
			*head = int32(len(x.entries))
		}
	}
	return x
}

// windowHash hashes the first 32 bytes.
func windowHash(b []byte) uint64 {
	_ = b[window-1]
	h := binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15
	h = (bits.RotateLeft64(h, 23) ^ binary.LittleEndian.Uint64(b[8:])) * 0xbf58476d1ce4e5b9
	h = (bits.RotateLeft64(h, 29) ^ binary.LittleEndian.Uint64(b[16:])) * 0x94d049bb133111eb
	h = (bits.RotateLeft64(h, 31) ^ binary.LittleEndian.Uint64(b[24:])) * 0x9e3779b97f4a7c15
	return h
}

// references also reports whether it searched all of data.
func (x *resultIndex) references(data []byte) (found []reference, all bool) {
	used := make([]bool, len(x.results))
	patience := len(data) // bytes and windows that may be compared without success
	for at := 0; at+window <= len(data) && patience > 0; at += window {
		h := windowHash(data[at:])
		for k := x.first[h>>48]; k != 0 && patience > 0; {
			w := &x.entries[k-1]
			k = w.next
			start := at - w.off
			if w.hash != h || used[w.result] || start < 0 {
				patience--
				continue
			}
			r := x.results[w.result].Data
			if bytes.HasPrefix(data[start:], r) {
				used[w.result] = true
				found = append(found, reference{start, w.result})
				continue
			}
			patience -= len(r)
		}
	}
	slices.SortFunc(found, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(x.results[b.result].Data), len(x.results[a.result].Data)))
	})
	end := 0
	return slices.DeleteFunc(found, func(f reference) bool {
		if f.at < end {
			return true
		}
		end = f.at + len(x.results[f.result].Data)
		return false
	}), patience > 0
}
