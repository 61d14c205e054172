package posthouse

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A Birth says that a branch began after a branch of its thread's generation was deleted. So it is
// another one than a deleted branch of its name, and its steps have other keys.
type Birth struct {
	Branch string `json:"branch"`
	After  uint64 `json:"after"` // the entry of the newest removal before it that ended a branch
}

// Birth returns the entry of the newest removal before the branch began that ended a branch of the
// thread's generation, 0 for none. For a branch that does not exist it is as if it began now.
// Removals of earlier versions do not count.
func (t *ThreadInfo) Birth(branch string) uint64 {
	if i := slices.IndexFunc(t.Births, func(b Birth) bool { return b.Branch == branch }); i >= 0 {
		return t.Births[i].After
	}
	if _, ok := t.Branch(branch); ok {
		return 0
	}
	return t.Ended
}

// born notes a branch that begins.
func (t *ThreadInfo) born(branch string) {
	if t.Ended == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.Births, branch, func(b Birth, name string) int { return strings.Compare(b.Branch, name) })
	t.Births = slices.Insert(slices.Clone(t.Births), i, Birth{branch, t.Ended})
}

// branchEnded notes that the newest entry removed a branch: h is its head there, without an id.
// Earlier versions wrote no entry of it. What began after their removals keeps its keys.
func (t *ThreadInfo) branchEnded(h BranchHead) {
	if h.Seq != 0 {
		t.Ended = t.Tail.Seq
	}
	t.Births = slices.DeleteFunc(slices.Clone(t.Births), func(b Birth) bool { return b.Branch == h.Branch })
}

// appendBirths adds to an encoded summary what is known of deleted branches. Summaries without
// any end before it, as in earlier versions.
func (t *ThreadInfo) appendBirths(b []byte) []byte {
	if t.Ended == 0 {
		return b
	}
	b = canon.AppendUint(canon.AppendUint(b, t.Ended), uint64(len(t.Births)))
	for _, x := range t.Births {
		b = canon.AppendUint(canon.AppendString(b, branchCode(x.Branch)), x.After)
	}
	return b
}

func (t *ThreadInfo) readBirths(r *decoder) {
	if r.Err() != nil || r.Len() == 0 {
		return
	}
	if t.Ended = r.Uint(); t.Ended == 0 {
		r.Fail("a deleted branch without an entry")
	}
	for range r.Items() {
		t.Births = append(t.Births, Birth{readBranch(r), r.Uint()})
	}
}
