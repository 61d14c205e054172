package posthouse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// headOf returns a branch's head, loading it if this process does not know it;
// nil if there is no such branch.
func (l *Core) headOf(ctx context.Context, t *thread, branch string) (*head, error) {
	if h := t.heads[branch]; h != nil {
		return h, nil
	}
	bh, ok := t.info.Branch(branch)
	if !ok {
		return nil, nil
	}
	h, err := l.headAt(ctx, t.name, bh.Seq)
	if err != nil {
		return nil, err
	}
	t.heads[branch] = h
	return h, nil
}

func (l *Core) headAt(ctx context.Context, thread string, seq uint64) (*head, error) {
	b, err := l.reader(ctx, thread).locate(seq)
	if err != nil {
		return nil, err
	}
	return &head{Header: b.header, parts: b.parts, manifest: b.manifest, age: b.age}, nil
}

// base returns what the new checkpoint is encoded against, nil for nothing, and
// for a new revision the newest one there is.
func (c *Commit) base() (base *head, old *Header, err error) {
	tx, p := c.tx, c.plan
	if p.Revise == "" {
		base, err = c.parent()
		return base, nil, err
	}
	old, orphan, err := tx.revised(p.Revise)
	if err == nil && old.ParentSeq != 0 {
		base, err = tx.l.headAt(tx.ctx, p.Thread, old.ParentSeq)
	}
	if err == nil && orphan {
		base.parts = nil // their bodies may be gone: written in full, with a list of its own
	}
	return base, old, err
}

// parent finds what the new checkpoint is a change of.
func (c *Commit) parent() (*head, error) {
	tx, p, ch, bh, exists := c.tx, c.plan, c.plan.Checkpoint, c.head, c.exists
	switch {
	case ch.Root || !exists && ch.Parent == "":
		if !ch.Root && p.Branch != MainBranch {
			return nil, &Error{
				Code: CodeNotFound, Message: "thread " + p.Thread + " has no branch " + p.Branch,
				Hint: "name the parent to begin a branch, or fork",
			}
		}
		return nil, nil
	case ch.Parent == "" || ch.Parent == bh.Head && exists:
		return tx.l.headOf(tx.ctx, tx.t, p.Branch)
	case exists:
		return nil, &Error{
			Code: CodeConflict, Head: bh.Head, Tail: &tx.t.info.Tail,
			Message: "checkpoint " + string(ch.Parent) + " is not the head of branch " + p.Branch + "; " + string(bh.Head) + " is",
			Hint:    "derive from the head, or fork the older checkpoint into a branch of its own",
		}
	}
	ref, err := tx.l.store.Find(tx.ctx, ch.Parent)
	if err != nil {
		return nil, err
	}
	if ref.Thread != p.Thread {
		return nil, invalid("parent", "%s belongs to thread %q, not %q; fork it into this thread", ch.Parent, ref.Thread, p.Thread)
	}
	if ref.Seq < tx.t.info.First {
		return nil, released(CodeConflict, ch.Parent, p.Thread)
	}
	return tx.l.headAt(tx.ctx, p.Thread, ref.Seq)
}

// released is why a checkpoint cannot be gone on from where it is.
func released(code Code, id ID, thread string) *Error {
	return &Error{
		Code: code, Message: "checkpoint " + string(id) + " belongs to a released version of thread " + thread,
		Hint: "fork it into the thread as it is now, or into another",
	}
}

// addCheckpoint adds the checkpoint's record and makes it the branch's next head.
func (c *Commit) addCheckpoint() error {
	tx, p, ch := c.tx, c.plan, c.plan.Checkpoint
	if ch == nil {
		return nil
	}
	base, old, err := c.base()
	if err != nil {
		return err
	}
	e := tx.encoder(base, !c.exists || old != nil && base != nil && len(base.parts) == 0)
	if err := c.findAnswers(); err != nil {
		return err
	}
	next := tx.newHead()
	h := &next.Header
	h.describe(p, ch, base)
	if h.Status == StatusWaiting && !p.Copy {
		answered, err := c.anyAnswered()
		if err != nil {
			return err
		}
		if answered {
			h.Status = StatusReady
		}
	}
	if old != nil {
		h.ID, h.Order, h.Revision = old.ID, old.Order, old.Revision+1
	} else {
		if base != nil {
			tx.l.ids.follow(base.Order, tx.at)
		}
		tx.identify(h)
	}
	if err := e.change(ch, p.Kept); err != nil {
		return err
	}
	if err := c.noteTaken(base); err != nil {
		return err
	}
	return tx.finish(next, e, ch.Status)
}

// describe makes h the header of the checkpoint that c makes of base, but for
// what identifies it.
func (h *Header) describe(d *Plan, c *Change, base *head) {
	*h = Header{
		ID: c.ID, Thread: d.Thread, Branch: d.Branch, Coordination: c.Coordination, Kind: c.Kind, Status: c.Status,
		Run: c.Run, Graph: c.Graph, Fingerprint: c.Fingerprint, Node: c.Node, Agent: c.Agent, By: c.By, Error: c.Error,
		Labels: maps.Clone(c.Labels), CreatedAt: c.CreatedAt.UTC(),
	}
	if base != nil && slices.Equal(base.Next, c.Next) {
		h.Next = base.Next // nobody changes it
	} else {
		h.Next = slices.Clone(c.Next)
	}
	if c.Source != nil {
		s := *c.Source
		h.Source = &s
	}
	if c.CreatedAt.IsZero() {
		h.CreatedAt = c.CreatedAt
	}
	if h.Step = d.Step; base == nil && c.Kind == KindNode && !d.Copy {
		h.Step = 1 // a thread that begins with a finished step
	}
	if base != nil {
		h.Parent, h.ParentSeq = base.ID, base.Seq
		if !d.Copy {
			h.Step = base.Step + uint64(c.Skipped)
			if !c.SameStep {
				h.Step += stepOf(c.Kind)
			}
		}
		h.Coordination = cmp.Or(h.Coordination, base.Coordination)
		h.Graph = cmp.Or(h.Graph, base.Graph)
	}
}

// finish puts the record and the new head together.
func (a *appending) finish(next *head, e *encoder, s Status) error {
	h := &next.Header
	next.manifest, next.age, h.Size = e.finish()
	if h.Size > a.l.opt.MaxState {
		return tooLarge("state", h.Size, a.l.opt.MaxState)
	}
	next.parts = e.parts
	a.add(Record{Kind: RecordCheckpoint, Checkpoint: h, parts: e.list}, e.body)
	a.ids = append(a.ids, IndexedID{ID: h.ID, Order: h.Order, Header: h, Replace: h.Revision > 0})
	a.next = next
	a.sign = a.sign || s == StatusDone || s == StatusFailed || s == StatusCancelled
	return nil
}

// stepOf is what a kind of checkpoint adds to the count of steps: one that
// waits, failed, was forked or migrated has the executions of its parent before it,
// and an event or a subgraph's node happens in the middle of one.
func stepOf(kind string) uint64 {
	switch kind {
	case KindWait, KindFail, KindFork, KindEvent, KindInner, KindCancel, KindMigrate, KindAnew:
		return 0
	}
	return 1
}

// goesOn reports whether a checkpoint is in the middle of the step that its
// parent is in.
func goesOn(h, parent *Header) bool {
	return stepOf(h.Kind) == 0 || h.Kind == KindUpdate && h.Step == parent.Step
}

// identify gives the checkpoint its id and its place among all.
func (a *appending) identify(h *Header) {
	if h.ID == "" {
		h.ID = a.l.ids.new(a.at)
	}
	if k, ok := h.ID.uuid(); ok {
		h.Order = k
	} else {
		h.Order, _ = a.l.ids.new(a.at).uuid()
	}
}

// change encodes what c does to the parts.
func (e *encoder) change(c *Change, kept State) error {
	for i := range c.Parts {
		if err := checkPartName(c.Parts[i].Name); err != nil {
			return err
		}
		if err := e.part(&c.Parts[i]); err != nil {
			return err
		}
	}
	for i := range c.Program {
		p := &c.Program[i]
		if !isProgramPart(p.Name) {
			return invalid("program", "has a part %.40q; names are $ and 1 to %d bytes of text", p.Name, maxTask-1)
		}
		if len(p.Data) > e.l.opt.MaxState {
			return tooLarge("part "+p.Name, len(p.Data), e.l.opt.MaxState)
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
		e.drop(metaPart)
		return nil
	}
	for k, v := range c.Metadata {
		if !validText(k) || !checkUTF8(v) {
			return invalid("metadata", "%.40q is not valid text", k)
		}
	}
	data, err := json.Marshal(c.Metadata)
	if err != nil {
		return invalid("metadata", "does not encode: %v", err)
	}
	if len(data) > e.l.opt.MaxState {
		return tooLarge("metadata", len(data), e.l.opt.MaxState)
	}
	return e.set(metaPart, Value{"json", data})
}

// part encodes one changed part.
func (e *encoder) part(p *Part) error {
	codec := cmp.Or(p.Codec, "json")
	switch {
	case p.Drop:
		e.drop(p.Name)
		return nil
	case p.Splice:
		return e.splice(p.Name, codec, p.Prefix, p.Suffix, p.Data, nil)
	}
	return e.set(p.Name, Value{codec, p.Data})
}

// whole replaces the state: parts that are not in s go.
func (e *encoder) whole(s, kept State) error {
	for _, p := range slices.Clone(e.parts) {
		if _, ok := s[p.name]; !ok && !isReserved(p.name) {
			e.drop(p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := checkPartName(name); err != nil {
			return err
		}
		v := s[name]
		if old, ok := kept[name]; !ok || old.Codec != v.Codec || !bytes.Equal(old.Data, v.Data) {
			if err := v.validate(name); err != nil {
				return err
			}
		}
		if err := e.set(name, v); err != nil {
			return err
		}
	}
	return nil
}

func checkPartName(name string) error {
	if name == "" || len(name) > MaxID || !validText(name) || isReserved(name) {
		return invalid("part", "name %.40q must be 1 to %d bytes of text that do not begin with $", name, MaxID)
	}
	return nil
}

// isReserved reports whether a part is not the state's: its name begins with $.
// isProgramPart reports whether a program may call a part so. Names of nodes,
// escaped, stand in it.
func isProgramPart(name string) bool {
	return isReserved(name) && name != metaPart && name != signalsPart && len(name) > 1 && len(name) <= maxTask && !isReserved(name[1:]) && validText(name)
}

func isReserved(name string) bool { return strings.HasPrefix(name, "$") }
