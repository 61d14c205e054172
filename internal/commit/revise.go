package commit

import (
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// revised returns the newest revision of a checkpoint to replace, and whether its
// parent was removed.
func revised(tx *core.Tx, id posthouse.ID) (h *posthouse.Header, orphan bool, err error) {
	tree, err := tx.Core.Logs.Tree(tx.Ctx, tx.Thread.Name, tx.Thread.Info.First)
	if err != nil {
		return nil, false, err
	}
	seq, ok := tree.ByID[id]
	if !ok {
		if ref, err := tx.Core.Store.Find(tx.Ctx, id); err == nil && ref.Seq < tx.Thread.Info.First {
			return nil, false, core.ReleasedError(posthouse.CodeExists, id, tx.Thread.Name)
		}
		return nil, false, posthouse.NotFound("checkpoint", id)
	}
	if n := len(tree.Children[seq]); n > 0 {
		return nil, false, &posthouse.Error{
			Code: posthouse.CodeExists, Message: "checkpoint " + string(id) + " has " + strconv.Itoa(n) + " children and cannot be replaced",
			Hint: "fork it with the new state instead",
		}
	}
	h = &tree.Nodes[seq].Header
	parent := tree.Nodes[h.ParentSeq]
	return h, parent != nil && parent.Removed, nil
}
