package ledger_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestSaveAtAnExpectedHead: a checkpoint is saved only while the branch has the head that its
// writer saw, and "" expects that there is no branch.
func TestSaveAtAnExpectedHead(t *testing.T) {
	l := open(t, nil)
	save := func(parent, head posthouse.ID) (*posthouse.Checkpoint, error) {
		return l.Save(t.Context(), &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t", Parent: parent}, State: opaque(t, parent)}, &ledger.SaveOptions{Head: &head})
	}
	first := must.Get(save("", ""))(t)
	if _, err := save("", ""); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("a second first checkpoint: %v", err)
	}
	second := must.Get(save(first.ID, first.ID))(t)
	if _, err := save(first.ID, first.ID); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("a checkpoint after a head that is gone: %v", err)
	}
	if info := must.Get(l.Thread(t.Context(), "t"))(t); info.Branches[0].Head != second.ID {
		t.Errorf("head %s, want %s", info.Branches[0].Head, second.ID)
	}
}
