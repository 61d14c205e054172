package posthouse_test

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// TestBirthAfterAnEarlierVersionsRemoval: a removal that names the entry of a deleted branch's head
// marks the branches that begin after it, also one of the same name. Removals of earlier versions
// name no entry. A branch that began after one of those may have acted under the keys that it has,
// so they stay as they are: they are those of the deleted branch of its name.
func TestBirthAfterAnEarlierVersionsRemoval(t *testing.T) {
	var info posthouse.ThreadInfo
	add := func(r posthouse.Record) {
		t.Helper()
		e := &posthouse.Entry{Thread: "t", Generation: 1, Seq: info.Tail.Seq + 1, Prev: info.Link, Hash: posthouse.Hash{byte(info.Tail.Seq + 1)}}
		if err := info.ApplyRecords(e, []posthouse.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(branch string) {
		t.Helper()
		add(posthouse.Record{Checkpoint: &posthouse.Header{ID: posthouse.ID(branch), Thread: "t", Branch: branch, Seq: info.Tail.Seq + 1}})
	}
	remove := func(head uint64) {
		t.Helper()
		add(posthouse.Record{Removal: &posthouse.RemovalInfo{Heads: []posthouse.BranchHead{{Branch: "fork-1", Seq: head}}}})
	}
	want := func(what string, births map[string]uint64) {
		t.Helper()
		for branch, after := range births {
			if got := info.Birth(branch); got != after {
				t.Errorf("%s, branch %s began after entry %d, want %d", what, branch, got, after)
			}
		}
	}
	begin("main")
	begin("fork-1")
	remove(0)
	begin("fork-1")
	want("after a removal by an earlier version", map[string]uint64{"main": 0, "fork-1": 0, "fork-2": 0})
	begin("fork-2")
	remove(info.Tail.Seq - 1)
	want("after a removal of now", map[string]uint64{"main": 0, "fork-1": 6, "fork-2": 0})
	begin("fork-1")
	begin("fork-3")
	want("once others began", map[string]uint64{"main": 0, "fork-1": 6, "fork-2": 0, "fork-3": 6})
}
