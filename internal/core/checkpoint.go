package core

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
)

// headOf returns a branch's head, or nil for an unknown branch. It reads a head that
// this process does not have.
func (c *Core) headOf(ctx context.Context, t *Thread, branch string) (*Head, error) {
	if h := t.Heads[branch]; h != nil {
		return h, nil
	}
	bh, ok := t.Info.Branch(branch)
	if !ok {
		return nil, nil
	}
	h, err := c.headAt(ctx, t.Name, bh.Seq)
	if err != nil {
		return nil, err
	}
	t.Heads[branch] = h
	return h, nil
}

func (c *Core) headAt(ctx context.Context, thread string, seq uint64) (*Head, error) {
	b, err := c.Logs.Reader(ctx, thread).Locate(seq)
	if err != nil {
		return nil, err
	}
	return &Head{Header: b.Header, Parts: b.Parts, manifest: b.Manifest, age: b.Age}, nil
}

// ReleasedError returns the error of going on with a checkpoint of a released version.
func ReleasedError(code posthouse.Code, id posthouse.ID, thread string) *posthouse.Error {
	return &posthouse.Error{
		Code: code, Message: "checkpoint " + string(id) + " belongs to a released version of thread " + thread,
		Hint: "fork it into the thread as it is now, or into another",
	}
}

// Finish adds the checkpoint's record and makes its head the branch's.
func (tx *Tx) Finish(next *Head, e *Encoder, s posthouse.Status) error {
	h := &next.Header
	next.manifest, next.age, h.Size = e.finish()
	if h.Size > tx.Core.Config.MaxState {
		return posthouse.OverMaxState("state", h.Size, tx.Core.Config.MaxState)
	}
	next.Parts = e.Parts
	tx.Add(posthouse.Record{Kind: posthouse.RecordCheckpoint, Checkpoint: h, Parts: e.list}, e.body)
	tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: h.ID, Order: h.Order, Header: h, Replace: h.Revision > 0})
	tx.Next = next
	tx.Sign = tx.Sign || s == posthouse.StatusDone || s == posthouse.StatusFailed || s == posthouse.StatusCancelled
	return nil
}

// Identify gives the checkpoint its id and its order key.
func (tx *Tx) Identify(h *posthouse.Header) {
	if h.ID == "" {
		h.ID = tx.Core.IDs.New(tx.At)
	}
	if k, ok := h.ID.UUID(); ok {
		h.Order = k
	} else {
		h.Order, _ = tx.Core.IDs.New(tx.At).UUID()
	}
}

// Change encodes what c changes.
func (e *Encoder) Change(c *posthouse.Change, kept posthouse.State) error {
	for i := range c.Parts {
		if err := posthouse.CheckPartName(c.Parts[i].Name); err != nil {
			return err
		}
		if err := e.part(&c.Parts[i]); err != nil {
			return err
		}
	}
	for i := range c.Program {
		p := &c.Program[i]
		if !posthouse.IsProgramPart(p.Name) {
			return posthouse.Invalid("program", "has a part %.40q; names are $ and 1 to %d bytes of text", p.Name, posthouse.MaxTask-1)
		}
		if len(p.Data) > e.core.Config.MaxState {
			return posthouse.OverMaxState("part "+p.Name, len(p.Data), e.core.Config.MaxState)
		}
		if err := e.part(p); err != nil {
			return err
		}
	}
	if c.State != nil {
		if err := e.whole(c.State, kept); err != nil {
			return err
		}
	}
	if c.Metadata == nil {
		return nil
	}
	if len(c.Metadata) == 0 {
		e.drop(posthouse.MetaPart)
		return nil
	}
	for k, v := range c.Metadata {
		if !text.Valid(k) || !text.IsUTF8(v) {
			return posthouse.Invalid("metadata", "%.40q is not valid text", k)
		}
	}
	data, err := json.Marshal(c.Metadata)
	if err != nil {
		return posthouse.Invalid("metadata", "does not encode: %v", err)
	}
	if len(data) > e.core.Config.MaxState {
		return posthouse.OverMaxState("metadata", len(data), e.core.Config.MaxState)
	}
	return e.Set(posthouse.MetaPart, posthouse.Value{Codec: "json", Data: data})
}

func (e *Encoder) part(p *posthouse.Part) error {
	codec := cmp.Or(p.Codec, "json")
	switch {
	case p.Drop:
		e.drop(p.Name)
		return nil
	case p.Splice:
		return e.splice(p.Name, codec, p.Prefix, p.Suffix, p.Data, nil)
	}
	return e.Set(p.Name, posthouse.Value{Codec: codec, Data: p.Data})
}

// whole replaces the state: parts that are not in s are dropped.
func (e *Encoder) whole(s, kept posthouse.State) error {
	for _, p := range slices.Clone(e.Parts) {
		if _, ok := s[p.Name]; !ok && !posthouse.IsReserved(p.Name) {
			e.drop(p.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := posthouse.CheckPartName(name); err != nil {
			return err
		}
		v := s[name]
		if old, ok := kept[name]; !ok || old.Codec != v.Codec || !bytes.Equal(old.Data, v.Data) {
			if err := v.Validate(name); err != nil {
				return err
			}
		}
		if err := e.Set(name, v); err != nil {
			return err
		}
	}
	return nil
}

// HeadOf returns a branch's head, or nil for an unknown branch.
func (tx *Tx) HeadOf(branch string) (*Head, error) { return tx.Core.headOf(tx.Ctx, tx.Thread, branch) }

// HeadAt returns the checkpoint in an entry of a thread, as a base to encode the next
// against.
func (tx *Tx) HeadAt(seq uint64) (*Head, error) { return tx.Core.headAt(tx.Ctx, tx.Thread.Name, seq) }
