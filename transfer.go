package posthouse

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
)

// importSlot marks a thread that is being imported, by the sum of the file.
const importSlot = "$import"

// ExportOptions refine Export. Nil is the zero value.
type ExportOptions struct {
	Slots []string // steps whose slots go along, where the store is no [SlotLister]; elsewhere all do
}

// Export writes a thread to a file as it is: entries, hashes, signatures and
// slots, so that [Ledger.Import] puts the same thread into another store, where
// it verifies with the same keys. Everything is checked on the way out. It may
// run beside those who use the thread. The file holds what the store holds: it
// is as secret as that, and with encryption it is sealed by the same keys.
// [ErrNotFound], [ErrCorrupt]. Format: docs/format.md.
func (l *Core) Export(ctx context.Context, thread string, w io.Writer, o *ExportOptions) (*ThreadFile, error) {
	info, err := l.summary(ctx, thread)
	if err == nil && info.gone() && info.Releases == 0 {
		err = notFound("thread", thread)
	}
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &ExportOptions{}
	}
	f, err := newFileWriter(w, thread)
	if err != nil {
		return nil, err
	}
	out := &ThreadFile{Thread: thread}
	slots, err := slotsOf(ctx, l.store, thread, o.Slots)
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		if err := f.slot(s.Key.Step, s.Slot); err != nil {
			return nil, err
		}
		out.Slots++
	}
	p := newReplay(nil)
	for from, more := uint64(0), true; more; {
		more = false
		for e, err := range l.store.Read(ctx, thread, Range{From: from}) {
			if err != nil {
				return nil, err
			}
			if _, err := p.next(e, nil); err != nil {
				return nil, err
			}
			if err := f.entry(e); err != nil {
				return nil, err
			}
			from, more = e.Seq+1, true
		}
		if p.lost() == nil {
			break // else a removal came in between, and its record is still to be read
		}
	}
	if err := p.reached(thread, info.Tail); err != nil {
		return nil, err
	}
	if err := p.lost(); err != nil {
		return nil, err
	}
	out.Entries, out.Checkpoints, out.Tail = p.entries, p.checkpoints, p.info.Tail
	return out, f.end(out)
}

// slotsOf returns a thread's slots by name, as far as the store can say: those
// of its data keys and of the given names in any case.
func slotsOf(ctx context.Context, s Store, thread string, names []string) (slots []*SlotItem, err error) {
	if lister, ok := s.(SlotLister); ok {
		for item, err := range lister.Slots(ctx, thread) {
			if err != nil {
				return nil, err
			}
			if item.Key.Step != importSlot {
				slots = append(slots, item)
			}
		}
	} else {
		keys, err := keySlots(ctx, s, thread) // the runtime's own
		if err != nil {
			return nil, err
		}
		names = slices.Concat(names, keys)
		slices.Sort(names)
		for _, step := range slices.Compact(names) {
			slot, err := s.Slot(ctx, SlotKey{thread, step}, SlotOp{Verb: SlotGet})
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			slots = append(slots, &SlotItem{SlotKey{thread, step}, slot})
		}
	}
	slices.SortFunc(slots, func(a, b *SlotItem) int { return strings.Compare(a.Key.Step, b.Key.Step) })
	return slots, nil
}

// ImportOptions refine Import. Nil is the zero value.
type ImportOptions struct {
	Thread string // the file must hold this thread: [ErrInvalid] if not

	// Clear admits a thread in the clear to a store that is encrypted, and goes
	// on record there ([Ledger.Encryption]). Default: such a file is ErrSealed.
	Clear *ClearDecision

	// Check is called with each entry in the file's order, and with nil at its
	// end, before anything is written; its error refuses the file. Hashes are
	// checked in any case. Default: that of Options.Verifier.
	Check func(*Entry) error

	// Unverified admits a file whoever signed it, if anybody did: Options.Verifier
	// is not asked, and Interrupt is implied.
	Unverified bool

	// Interrupt puts a checkpoint with status interrupted on each branch that
	// would run by itself, so that nothing of the thread runs until somebody
	// resumes it: for a file that cannot be verified.
	Interrupt bool
}

// Import puts a thread into the store as a file has it that [Ledger.Export]
// wrote: byte for byte, under the same name, which its hashes cover; to have it
// under another, import it and copy it. r is read twice, first to check all of
// it, so that a damaged file ([ErrCorrupt]) changes nothing. Neither does one
// whose thread, or one of whose ids, is there already: [ErrExists]. Rules are
// not asked: what is imported was written before.
//
// What is checked: the file's own sum, the hash of each entry and body, and that
// the entries follow each other, always; signatures, if the Ledger has a key or
// Options.Verifier, or o a Check: with a key of package sign a file is
// [ErrForbidden] unless all of it that has to be signed is, by that key or one of
// the Verifier's. A Ledger without either checks no signature: whoever made the
// file can have put any decision into it, in anybody's name.
//
// A failure in between takes back what was written. A process that was killed
// leaves the beginning of the thread; importing the same file again goes on
// from there, unless somebody has appended to it.
func (l *Core) Import(ctx context.Context, r io.ReadSeeker, o *ImportOptions) (*ThreadFile, error) {
	in := &importing{l: l, ctx: ctx, r: r}
	if o != nil {
		in.opt = *o
	}
	switch {
	case in.opt.Unverified:
		in.opt.Interrupt = true
	case in.opt.Check == nil && l.opt.Verifier != nil:
		in.opt.Check = l.opt.Verifier.ImportCheck()
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.opt.Thread != "" && in.opt.Thread != in.file.Thread {
		return nil, &Error{
			Code: CodeInvalid, Field: "thread", Message: "is " + in.opt.Thread + ", and the file holds " + in.file.Thread,
			Hint: "a thread keeps its name, which its hashes cover; import it and copy it",
		}
	}
	t, err := l.lock(in.file.Thread) // until it is all there, so that nothing of this process runs a part of it
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	defer t.forget()
	defer l.keys.forgetThread(in.file.Thread)
	if t.claim != nil {
		return nil, busy(t.name, &Lease{Owner: l.opt.Owner, Run: t.claim.Run, Held: true})
	}
	if err := in.place(); err != nil {
		return nil, err
	}
	if err := l.admitImport(ctx, in.first, in.opt.Clear); err != nil {
		return nil, err
	}
	if err := in.write(); err != nil {
		return nil, errors.Join(err, in.undo(err))
	}
	if in.opt.Interrupt {
		if err := in.interrupt(t); err != nil {
			return nil, errors.Join(err, in.undo(err))
		}
	}
	l.retained.recountNext()
	return in.file, nil
}

// An importing is one import at work.
type importing struct {
	l      *Core
	opt    ImportOptions
	ctx    context.Context
	r      io.ReadSeeker
	file   *ThreadFile
	digest Hash
	first  *replay
	slots  []*SlotItem
	at     Position // what is there already, from an import that was killed
	wrote  Position // the last entry this import put there
}

// check reads the whole file.
func (in *importing) check() error {
	f, err := newFileReader(in.r)
	if err != nil {
		return err
	}
	in.first = newReplay(nil)
	for {
		slot, e, err := f.next()
		switch {
		case err != nil:
			return err
		case slot != nil:
			in.slots = append(in.slots, slot)
			continue
		case e != nil:
			if _, err := in.first.next(e, nil); err != nil {
				return err
			}
			if in.opt.Check != nil {
				if err := in.opt.Check(e); err != nil {
					return err
				}
			}
			continue
		}
		break
	}
	if in.opt.Check != nil {
		if err := in.opt.Check(nil); err != nil {
			return err
		}
	}
	if in.first.info == nil {
		return badFile("has no entry")
	}
	if err := in.first.lost(); err != nil {
		return err
	}
	in.digest = f.digest
	in.file = &ThreadFile{
		Thread: f.thread, Entries: in.first.entries, Checkpoints: in.first.checkpoints, Slots: f.slots, Bytes: f.n, Tail: in.first.info.Tail,
	}
	return nil
}

func (in *importing) marker() SlotKey { return SlotKey{in.file.Thread, importSlot} }

// place makes sure that nothing is in the way.
func (in *importing) place() error {
	exists := func(message string) error {
		return &Error{Code: CodeExists, Message: message, Hint: "nothing was written; import into another store"}
	}
	mark, err := in.l.store.Slot(in.ctx, in.marker(), SlotOp{Verb: SlotGet})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	ours := string(mark.Value) == in.digest.String()
	for t, err := range in.l.store.Threads(in.ctx, ThreadQuery{Thread: in.file.Thread}) {
		if err != nil {
			return err
		}
		if !ours {
			return exists("thread " + in.file.Thread + " exists")
		}
		in.at = t.Tail
	}
	for id := range in.first.live {
		ref, err := in.l.store.Find(in.ctx, id)
		if err == nil && (in.at == Position{} || ref.Thread != in.file.Thread) {
			return exists("the id " + string(id) + " is taken by thread " + ref.Thread)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	if ours {
		if in.at.Seq > in.file.Tail.Seq {
			return in.overtaken()
		}
		return nil
	}
	var names []string
	for _, s := range in.slots {
		names = append(names, s.Key.Step)
	}
	have, err := slotsOf(in.ctx, in.l.store, in.file.Thread, names)
	if err == nil && len(have) > 0 {
		err = exists("thread " + in.file.Thread + " has the slot " + have[0].Key.Step)
	}
	return err
}

// interrupt stops each branch that a runner would move. Callers hold t.mu, so
// that no run of this process comes first.
func (in *importing) interrupt(t *thread) error {
	t.forget()
	if err := in.l.load(in.ctx, t); err != nil {
		return err
	}
	for _, b := range slices.Clone(t.info.Branches) {
		if !b.Status.Runnable() {
			continue
		}
		h, err := in.l.GetHeader(in.ctx, b.Head)
		if err != nil {
			return err
		}
		d := &Plan{Thread: t.name, Branch: b.Branch, Step: h.Step, Checkpoint: &Change{
			Parent: b.Head, Kind: h.Kind, Status: StatusInterrupted, Coordination: h.Coordination, Run: h.Run, Graph: h.Graph,
			Fingerprint: h.Fingerprint, Node: h.Node, Agent: h.Agent, By: "posthouse", Next: h.Next, Labels: h.Labels, Parts: []Part{},
			Error: "it was imported, and its signatures could not be verified",
		}}
		if err := d.validate(); err != nil {
			return err
		}
		if err := in.l.append(in.ctx, t, func(a *appending) error {
			a.t.info.Lease.Held = false // of a run where it comes from
			_, err := WritePlan(a, d)
			return err
		}); err != nil {
			return err
		}
		in.wrote = t.info.Tail
	}
	return nil
}

func (in *importing) overtaken() error {
	return &Error{Code: CodeConflict, Tail: &in.at, Message: "somebody has appended to thread " + in.file.Thread + " since its import was interrupted"}
}

// write reads the file again and puts what it holds into the store.
func (in *importing) write() error {
	if _, err := in.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	put := func(key SlotKey, op SlotOp) error {
		_, err := in.l.store.Slot(in.ctx, key, op)
		return err
	}
	if err := put(in.marker(), SlotOp{Verb: SlotPut, Revision: AnyRevision, Value: []byte(in.digest.String())}); err != nil {
		return err
	}
	f, err := newFileReader(in.r)
	if err != nil {
		return err
	}
	p := in.first.again()
	out := &bulk{ctx: in.ctx, store: in.l.store, took: func(bs []*Batch) { in.wrote = bs[len(bs)-1].Thread.Tail }}
	for {
		slot, e, err := f.next()
		switch {
		case err != nil:
			return err
		case slot != nil:
			err = put(slot.Key, SlotOp{Verb: SlotPut, Revision: AnyRevision, Fence: slot.Fence, Value: slot.Value})
		case e != nil:
			err = in.append(out, p, e)
		case f.digest != in.digest:
			return badFile("was changed while it was read")
		default:
			if err := out.flush(); err != nil {
				return err
			}
			return put(in.marker(), SlotOp{Verb: SlotDelete, Revision: AnyRevision})
		}
		if err != nil {
			return err
		}
	}
}

func (in *importing) append(out *bulk, p *replay, e *Entry) error {
	b, err := p.next(e, nil)
	if err != nil {
		return err
	}
	if e.Seq <= in.at.Seq {
		if e.Seq == in.at.Seq && e.Hash != in.at.Hash {
			return in.overtaken()
		}
		return nil
	}
	return out.add(b)
}

// undo takes back what a failed import has written, unless somebody has built
// on it.
func (in *importing) undo(cause error) error {
	ctx := context.WithoutCancel(in.ctx)
	for t, err := range in.l.store.Threads(ctx, ThreadQuery{Thread: in.file.Thread}) {
		if err != nil {
			return err
		}
		if errors.Is(cause, ErrConflict) || t.Tail != in.wrote && t.Tail != in.at {
			return nil
		}
	}
	_, err := in.l.store.Remove(ctx, Removal{Thread: in.file.Thread, All: true})
	return err
}
