package front

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// RollBack restores the branch to what it was before its last input. A checkpoint of kind
// update undoes what that changed; c has its other fields, such as the program's name. It
// returns nil for a branch that began without an input.
func RollBack(ctx context.Context, s *session.Session, c *posthouse.Change) (*posthouse.Header, error) {
	h, err := s.Head(), error(nil)
	for h.Kind != posthouse.KindInput {
		if h.Parent == "" {
			return nil, nil
		}
		h, err = s.Ledger().GetHeader(ctx, h.Parent)
		if err != nil {
			return nil, err
		}
	}
	now, err := ledger.GetOf(ctx, s.Ledger(), s.Head())
	if err != nil {
		return nil, err
	}
	before := &posthouse.Checkpoint{State: posthouse.State{}}
	if h.Parent != "" {
		before, err = s.Ledger().Get(ctx, h.Parent)
		if err != nil {
			return nil, err
		}
	}
	c.Kind, c.Status = posthouse.KindUpdate, posthouse.StatusInterrupted
	c.Node, c.Next, c.State, c.Metadata = before.Node, before.Next, before.State, before.Metadata
	if len(c.Next) == 0 {
		c.Status = posthouse.StatusDone
	}
	if before.ID != "" {
		c.Source = &posthouse.Source{Thread: before.Thread, ID: before.ID}
	}
	for name, v := range before.Program {
		c.Program = append(c.Program, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
	}
	for name := range now.Program {
		if _, kept := before.Program[name]; !kept {
			c.Program = append(c.Program, posthouse.Part{Name: name, Drop: true})
		}
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{} // and not the parent's
	}
	if _, err := s.Commit(ctx, &ledger.Draft{Checkpoint: c}); err != nil {
		return nil, err
	}
	return s.Head(), nil
}
