package transfer

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
)

// importSlot is a slot that marks a thread during its import. It holds the file's sum.
const importSlot = "$import"

// ExportOptions refine [Export]. Nil is the zero value.
type ExportOptions struct {
	Slots []string // steps to export the slots of if the store is no [posthouse.SlotLister], which exports all
}

// Export writes a thread to a file as it is: entries, hashes, signatures and slots.
// [Import] puts the same thread into another store, where it verifies with the same keys.
// Export checks all hashes. The thread may be in use during the export. The file is as
// secret as the store; sealed bodies stay sealed by the same keys. docs/format.md has the
// format. Export fails with [posthouse.ErrNotFound] for an unknown thread and with
// [posthouse.ErrCorrupt] for a damaged one.
func Export(ctx context.Context, led *ledger.Ledger, thread string, w io.Writer, o *ExportOptions) (*ThreadFile, error) {
	l := led.Core()
	info, err := l.Logs.Summary(ctx, thread)
	if err == nil && info.Gone() && info.Releases == 0 {
		err = posthouse.NotFound("thread", thread)
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
	slots, err := slotsOf(ctx, l.Store, thread, o.Slots)
	if err != nil {
		return nil, err
	}
	if len(slots) > maxSlots {
		return nil, posthouse.TooMany("slots of thread "+thread, len(slots), maxSlots, "delete slots that are not needed any more")
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
		for e, err := range l.Store.Read(ctx, thread, posthouse.Range{From: from}) {
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
		if p.checkComplete() == nil {
			break // else something was removed since, and the record of that is still to be read
		}
	}
	if err := p.reached(thread, info.Tail); err != nil {
		return nil, err
	}
	if err := p.checkComplete(); err != nil {
		return nil, err
	}
	out.Entries, out.Checkpoints, out.Tail = p.entries, p.checkpoints, p.info.Tail
	return out, f.writeEnd(out)
}

// slotsOf returns a thread's slots by name. If the store cannot list them, these are the
// slots of its data keys and of the given names.
func slotsOf(ctx context.Context, s posthouse.Store, thread string, names []string) (slots []*posthouse.SlotItem, err error) {
	if lister, ok := s.(posthouse.SlotLister); ok {
		for item, err := range lister.Slots(ctx, thread) {
			if err != nil {
				return nil, err
			}
			if item.Key.Step != importSlot {
				slots = append(slots, item)
			}
		}
	} else {
		keys, err := encryption.KeySlots(ctx, s, thread)
		if err != nil {
			return nil, err
		}
		names = slices.Concat(names, keys)
		slices.Sort(names)
		for _, step := range slices.Compact(names) {
			key := posthouse.SlotKey{Thread: thread, Step: step}
			slot, err := s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
			if err == nil {
				slots = append(slots, &posthouse.SlotItem{Key: key, Slot: slot})
			} else if !errors.Is(err, posthouse.ErrNotFound) {
				return nil, err
			}
		}
	}
	slices.SortFunc(slots, func(a, b *posthouse.SlotItem) int { return strings.Compare(a.Key.Step, b.Key.Step) })
	return slots, nil
}

// ImportOptions refine [Import]. Nil is the zero value.
type ImportOptions struct {
	Thread string // the thread that the file must hold, else [posthouse.ErrInvalid]; default any

	// Clear admits a thread in the clear to an encrypted store, which records the
	// decision ([crypt.Status]). Default: such a file is refused with ErrSealed.
	Clear *posthouse.ClearDecision

	// Check is called with each entry in the file's order, and with nil at its end, before
	// anything is written. Its error refuses the file. Hashes are always checked.
	// Default: the check of Options.Verifier.
	Check func(*posthouse.Entry) error

	// Unverified admits a file with any or no signatures. It skips Options.Verifier and
	// implies Interrupt.
	Unverified bool

	// Interrupt adds a checkpoint with status interrupted to each branch that would run by
	// itself, so that nothing of the thread runs before it is resumed. Use it for a file
	// that cannot be verified.
	Interrupt bool

	// DryRun checks the file and the store, and writes nothing: it fails as an import would. The answer is
	// that of an import.
	DryRun bool

	// By is who imports, as the record of ended approvals says. Of an unverified file they become a requester of what goes on from
	// it: its open questions are withdrawn, and asked again when their branch is resumed.
	By string
}

// Import puts the thread of a file that [Export] wrote into the store, byte for byte. The
// thread keeps its name, which its hashes cover; to rename it, copy it afterwards. Import
// reads r twice, first to check it. It changes nothing if the file is damaged
// ([posthouse.ErrCorrupt]), or if the thread or one of its ids exists
// ([posthouse.ErrExists]). Rules do not apply to imported records.
//
// The store that the thread comes from has its approvals, too. So those under which effects may still
// run end with the import: the signal [posthouse.SignalImported], of By, follows the file's entries,
// and the answer lists them in Ended. gate.Act asks again about their content. Without such an approval
// nothing is added.
//
// Import always checks the file's sum, the hash of each entry and body, and that the
// entries follow each other. It checks signatures if the Ledger has a key or
// Options.Verifier, or if o has a Check. With a key of package sign it fails with
// [posthouse.ErrForbidden] unless all records that need a signature have one, by that key
// or one of the Verifier's. Without a key or Verifier it checks no signature: the author
// of the file could have put any decision into it, in any name.
//
// If Import fails while it writes, it removes what it wrote. A process that is killed
// leaves the beginning of the thread. Importing the same file again goes on from there,
// unless the thread has new entries.
func Import(ctx context.Context, led *ledger.Ledger, r io.ReadSeeker, o *ImportOptions) (*ThreadFile, error) {
	l := led.Core()
	in := &importer{l: l, ctx: ctx, r: r}
	if o != nil {
		in.opt = *o
	}
	switch {
	case in.opt.Unverified:
		in.opt.Interrupt = true
	case in.opt.Check == nil && l.Config.Verifier != nil:
		in.opt.Check = l.Config.Verifier.ImportCheck()
	}
	if in.opt.Check == nil {
		in.opt.Check = func(*posthouse.Entry) error { return nil }
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.opt.Thread != "" && in.opt.Thread != in.file.Thread {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "thread", Message: "is " + in.opt.Thread + ", and the file holds " + in.file.Thread,
			Hint: "a thread keeps its name, which its hashes cover; import it and copy it",
		}
	}
	t, err := l.Lock(in.file.Thread) // until the import ends, so that this process runs no part of the thread
	if err != nil {
		return nil, err
	}
	defer l.Unlock(t)
	defer t.Invalidate()
	defer l.Vault.Keys.ForgetThread(in.file.Thread)
	if t.Claim != nil {
		return nil, core.BusyError(t.Name, &posthouse.Lease{Owner: l.Config.Owner, Run: t.Claim.Run, Held: true})
	}
	if err := in.place(); err != nil {
		return nil, err
	}
	if err := admitImport(ctx, l, in.first, in.opt.Clear, in.opt.DryRun); err != nil {
		return nil, err
	}
	if in.opt.DryRun {
		return in.file, nil
	}
	if err := in.write(t); err != nil {
		return nil, errors.Join(err, in.undo(err))
	}
	if in.opt.Interrupt {
		if err := in.interrupt(t); err != nil {
			return nil, errors.Join(err, in.undo(err))
		}
	}
	l.Cap.RecountNext()
	return in.file, nil
}

type importer struct {
	l      *commit.Committer
	opt    ImportOptions
	ctx    context.Context
	r      io.ReadSeeker
	file   *ThreadFile
	digest posthouse.Hash
	first  *replay
	slots  []*posthouse.SlotItem
	at     posthouse.Position // where an import that was killed has left the thread
	wrote  posthouse.Position // the last entry that this import wrote
}

func (in *importer) check() error {
	f, err := newFileReader(in.r)
	if err != nil {
		return err
	}
	if err := posthouse.CheckThread("thread", f.thread); err != nil {
		return err
	}
	in.first = newReplay(nil)
	for more := true; more; {
		slot, e, err := f.next()
		if slot != nil {
			in.slots = append(in.slots, slot)
		}
		if e != nil {
			_, err = in.first.next(e, nil)
		}
		more = slot != nil || e != nil
		if err == nil && slot == nil {
			err = in.opt.Check(e) // with nil at the end
		}
		if err != nil {
			return err
		}
	}
	if in.first.info == nil {
		return badFile("has no entry")
	}
	if err := in.first.checkComplete(); err != nil {
		return err
	}
	in.digest = f.digest
	in.file = &ThreadFile{
		Thread: f.thread, Entries: in.first.entries, Checkpoints: in.first.checkpoints, Slots: f.slots, Bytes: f.n, Tail: in.first.info.Tail,
	}
	return nil
}

func (in *importer) marker() posthouse.SlotKey {
	return posthouse.SlotKey{Thread: in.file.Thread, Step: importSlot}
}

// place checks that the store has neither the thread nor its ids nor its slots.
func (in *importer) place() error {
	exists := func(message string) error {
		return &posthouse.Error{Code: posthouse.CodeExists, Message: message, Hint: "nothing was written; import into another store"}
	}
	mark, err := in.l.Store.Slot(in.ctx, in.marker(), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
		return err
	}
	ours := string(mark.Value) == in.digest.String()
	for t, err := range in.l.Store.Threads(in.ctx, posthouse.ThreadQuery{Thread: in.file.Thread}) {
		if err != nil {
			return err
		}
		if !ours {
			return exists("thread " + in.file.Thread + " exists")
		}
		in.at = t.Tail
	}
	for id := range in.first.live {
		ref, err := in.l.Store.Find(in.ctx, id)
		if err == nil && (in.at == posthouse.Position{} || ref.Thread != in.file.Thread) {
			return exists("the id " + string(id) + " is taken by thread " + ref.Thread)
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
	}
	if ours {
		if in.at.Seq > in.file.Tail.Seq && !in.hasEnded() {
			return in.overtakenError()
		}
		return nil
	}
	var names []string
	for _, s := range in.slots {
		names = append(names, s.Key.Step)
	}
	have, err := slotsOf(in.ctx, in.l.Store, in.file.Thread, names)
	if err == nil && len(have) > 0 {
		err = exists("thread " + in.file.Thread + " has the slot " + have[0].Key.Step)
	}
	return err
}

// interrupt stops each branch that a runner would run. Callers have locked the thread, so
// that no run of this process comes first.
func (in *importer) interrupt(t *core.Thread) error {
	t.Invalidate()
	if err := in.l.Load(in.ctx, t); err != nil {
		return err
	}
	for _, b := range slices.Clone(t.Info.Branches) {
		asks := in.opt.Unverified && in.opt.By != "" && !b.Status.Runnable()
		if !b.Status.Runnable() && !asks {
			continue
		}
		h, err := in.l.GetHeader(in.ctx, b.Head)
		if err != nil {
			return err
		}
		p := &commit.Plan{Thread: t.Name, Branch: b.Branch, Step: h.Step, Checkpoint: &posthouse.Change{
			Parent: b.Head, Kind: h.Kind, Status: posthouse.StatusInterrupted, Coordination: h.Coordination, Run: h.Run, Graph: h.Graph,
			Fingerprint: h.Fingerprint, Node: h.Node, Agent: h.Agent, By: "posthouse", Next: h.Next, Labels: h.Labels, Parts: []posthouse.Part{},
			Error: "it was imported, and its signatures could not be verified",
		}}
		if in.opt.Unverified && in.opt.By != "" {
			p.Checkpoint.Requesters = []posthouse.Requester{{Name: in.opt.By, How: posthouse.RequestedByImport}}
		}
		if asks {
			p.Checkpoint.Kind, p.Checkpoint.MidStep = posthouse.KindUpdate, true // its questions are about unsigned content
			if posthouse.IsOver(h.Status) {
				p.Checkpoint.Status, p.Checkpoint.Error = h.Status, h.Error // and so is what its next input begins with
			}
		}
		if err := p.Validate(); err != nil {
			return err
		}
		p.TrySchemas(in.l.Rules)
		if err := in.l.Append(in.ctx, t, func(tx *core.Tx) error {
			tx.Thread.Info.Lease.Held = false // of a run in the store it comes from
			_, err := commit.Write(tx, in.l.Rules, p)
			return err
		}); err != nil {
			return err
		}
		in.wrote = t.Info.Tail
	}
	return nil
}

func (in *importer) overtakenError() error {
	return &posthouse.Error{Code: posthouse.CodeConflict, Tail: &in.at, Message: "somebody has appended to thread " + in.file.Thread + " since its import was interrupted"}
}

// write reads the file again and writes its content to the store.
func (in *importer) write(t *core.Thread) error {
	if _, err := in.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	put := func(key posthouse.SlotKey, op posthouse.SlotOp) error {
		_, err := in.l.Store.Slot(in.ctx, key, op)
		return err
	}
	if err := put(in.marker(), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte(in.digest.String())}); err != nil {
		return err
	}
	f, err := newFileReader(in.r)
	if err != nil {
		return err
	}
	p := in.first.again()
	out := &core.Bulk{Ctx: in.ctx, Store: in.l.Store, Took: func(bs []*posthouse.Batch) { in.wrote = bs[len(bs)-1].Thread.Tail }}
	for {
		slot, e, err := f.next()
		switch {
		case err != nil:
			return err
		case slot != nil:
			err = put(slot.Key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: slot.Fence, Value: slot.Value})
		case e != nil:
			err = in.append(out, p, e)
		case f.digest != in.digest:
			return badFile("was changed while it was read")
		default:
			if err := out.Flush(); err != nil {
				return err
			}
			if err := in.endApprovals(t); err != nil {
				return err
			}
			return put(in.marker(), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
		}
		if err != nil {
			return err
		}
	}
}

func (in *importer) append(out *core.Bulk, p *replay, e *posthouse.Entry) error {
	b, err := p.next(e, nil)
	if err != nil {
		return err
	}
	if e.Seq <= in.at.Seq {
		if e.Seq == in.at.Seq && e.Hash != in.at.Hash {
			return in.overtakenError()
		}
		return nil
	}
	return out.Add(b)
}

// undo removes what a failed import has written, unless others have appended to it.
func (in *importer) undo(cause error) error {
	ctx := context.WithoutCancel(in.ctx)
	for t, err := range in.l.Store.Threads(ctx, posthouse.ThreadQuery{Thread: in.file.Thread}) {
		if err != nil {
			return err
		}
		if errors.Is(cause, posthouse.ErrConflict) || t.Tail != in.wrote && t.Tail != in.at {
			return nil
		}
	}
	_, err := in.l.Store.Remove(ctx, posthouse.Removal{Thread: in.file.Thread, All: true})
	if in.l.Config.Reached != nil {
		in.l.Config.Reached(in.file.Thread, posthouse.Position{}, posthouse.Hash{}) // nothing says why it is gone
	}
	return err
}

// admitImport keeps the store's encryption mark true. A thread with sealed bodies marks the
// store as encrypted. A thread in the clear is refused by an encrypted store, unless the
// decision to admit it is given, which goes on record. A dry run refuses as much, and writes neither.
func admitImport(ctx context.Context, c *commit.Committer, p *replay, clear *posthouse.ClearDecision, dry bool) error {
	switch {
	case p.sealed && dry:
		return nil
	case p.sealed:
		return c.Vault.MarkEncrypted(ctx)
	case !p.clear:
		return nil
	}
	found, err := encryption.Find(ctx, c.Store, c.Config.Now())
	if err != nil || !found.Encrypted && c.Config.Cipher == nil {
		return err
	}
	if clear == nil {
		return &posthouse.Error{
			Code: posthouse.CodeSealed, Message: "the file holds thread " + p.info.Thread + " in the clear, and the store is encrypted",
			Hint: "nothing was written. Its bytes cannot be encrypted, since its hashes cover them: import it into a plain store, or set ImportOptions.Clear",
		}
	}
	d := *clear
	if err := encryption.CheckClearDecision(&d); err != nil || dry {
		return err
	}
	d.Thread, d.At = p.info.Thread, posthouse.ToMillis(c.Config.Now())
	_, err = encryption.ChangeMark(ctx, c.Store, func(m *encryption.Mark, _ bool) (bool, error) {
		m.Decide(d)
		return true, nil
	})
	return err
}
