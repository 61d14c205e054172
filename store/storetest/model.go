package storetest

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

// A Model is a store to compare others with.
type Model interface {
	posthouse.Store
	posthouse.BulkAppender
	posthouse.SlotLister
	SlotKeys() []posthouse.SlotKey // of the slots ever used
}

// NewModel returns an empty store in memory without any index: it reads all its data for
// each answer.
func NewModel() Model { return model.New() }

// WantSame compares all answers of a store with the model's. ids are all ids ever used.
func (t *T) WantSame(got posthouse.Store, want Model, ids []posthouse.ID) {
	t.Helper()
	for _, q := range []posthouse.ThreadQuery{{}, {Waiting: true}, {Runnable: true}, {Leased: true}, {Released: true}, {Newest: true}, {DueBefore: 1 << 50}, {Gates: true}, {Gates: true, People: true, Person: "bob", Descending: true}} {
		t.WantThreads(fmt.Sprintf("%+v", q), All(t, got.Threads(t.Context(), q)), All(t, want.Threads(t.Context(), q))...)
	}
	for _, th := range All(t, want.Threads(t.Context(), posthouse.ThreadQuery{})) {
		t.WantEntries("Read", All(t, got.Read(t.Context(), th.Thread, posthouse.Range{})), All(t, want.Read(t.Context(), th.Thread, posthouse.Range{})))
		q := posthouse.Query{Thread: th.Thread}
		t.WantHeaders(fmt.Sprintf("%+v", q), All(t, got.List(t.Context(), q)), All(t, want.List(t.Context(), q))...)
	}
	for _, q := range []posthouse.Query{{}, {Descending: true, Limit: 7}} {
		t.WantHeaders(fmt.Sprintf("%+v", q), All(t, got.List(t.Context(), q)), All(t, want.List(t.Context(), q))...)
	}
	for _, id := range ids {
		g, gerr := got.Find(t.Context(), id)
		w, werr := want.Find(t.Context(), id)
		if g != w || (gerr == nil) != (werr == nil) {
			t.Errorf("Find(%q): got %v and error %v, want %v and %v", id, g, gerr, w, werr)
		}
	}
	for _, key := range want.SlotKeys() {
		g, gerr := got.Slot(t.Context(), key, posthouse.SlotOp{})
		w, werr := want.Slot(t.Context(), key, posthouse.SlotOp{})
		if string(g.Value) != string(w.Value) || g.Fence != w.Fence || (gerr == nil) != (werr == nil) {
			t.Errorf("slot %q: got %+v and error %v, want %+v and %v", key, g, gerr, w, werr)
		}
	}
}
