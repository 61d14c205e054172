package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"
)

// An Encryption is what a store has on record about itself: whether it is
// encrypted, and who decided that it may be written in the clear all the same.
type Encryption struct {
	Encrypted bool            `json:"encrypted"`           // a Ledger without a Cipher is refused
	Since     time.Time       `json:"since,omitzero"`      // when that was found or last changed
	Decisions []ClearDecision `json:"decisions,omitempty"` // to write in the clear, oldest first; the newest 100
}

// A ClearDecision is a person's word that an encrypted store may be written in
// the clear.
type ClearDecision struct {
	By     string    `json:"by"`               // who decided; 1 to 200 bytes of text
	Reason string    `json:"reason"`           // why; 1 to 200 bytes of text
	Thread string    `json:"thread,omitempty"` // set by the Ledger: only for this thread's import
	At     time.Time `json:"at"`               // set by the Ledger
}

func (d *ClearDecision) validate() error {
	if err := errors.Join(validateText("by", d.By), validateText("reason", d.Reason)); err != nil {
		return err
	}
	if d.By == "" || d.Reason == "" {
		return &Error{Code: CodeInvalid, Field: "by", Message: "or reason is empty", Hint: "who decides to write in the clear, and why, stays on record"}
	}
	return nil
}

// decide adds a decision to the mark.
func (m *encryptionMark) decide(d ClearDecision) {
	m.Decisions = append(m.Decisions, d)
	m.Decisions = m.Decisions[max(0, len(m.Decisions)-maxDecisions):]
}

// encryptionSlot is where the mark is kept. No process has a name like it.
var encryptionSlot = SlotKey{ProcessThread, "$encryption"}

// An encryptionMark is the content of that slot.
type encryptionMark struct {
	Format int `json:"format"` // 1
	Encryption
}

const (
	maxDecisions = 100
	markFrom     = 1000 // threads: a store of fewer is looked through again by each process, and not marked as plain

	// recheckClear is how long a Ledger without a Cipher relies on what it
	// read: another process may have begun to encrypt since.
	recheckClear = time.Second
)

// An encryptionGuard remembers what the store's mark allows.
type encryptionGuard struct {
	sealed atomic.Bool  // the store is marked as encrypted; with a Cipher
	looked atomic.Bool  // the store was looked through: from then on its mark says all
	clear  atomic.Int64 // until when it may be written in the clear, in milliseconds of Options.Now
}

// readMark returns the store's mark with its slot's revision, 0 if there is none.
func readMark(ctx context.Context, s Store) (m encryptionMark, revision uint64, err error) {
	slot, err := s.Slot(ctx, encryptionSlot, SlotOp{Verb: SlotGet})
	if errors.Is(err, ErrNotFound) {
		return m, 0, nil
	}
	if err != nil {
		return m, 0, err
	}
	if json.Unmarshal(slot.Value, &m) != nil || m.Format != 1 {
		return m, 0, &Error{
			Code: CodeSealed, Message: "the store's mark of being encrypted does not decode",
			Hint: "a newer version wrote it, or it is damaged: use that version, or restore the store from a backup",
		}
	}
	return m, slot.Revision, nil
}

// changeMark puts what change makes of the mark on record; change returns
// false to leave it. Where others change it too, it starts over.
func changeMark(ctx context.Context, s Store, change func(*encryptionMark, bool) (bool, error)) (m encryptionMark, err error) {
	for range maxRetries {
		var revision uint64
		if m, revision, err = readMark(ctx, s); err != nil {
			return m, err
		}
		changed, err := change(&m, revision > 0)
		if err != nil || !changed {
			return m, err
		}
		m.Format = 1
		value, err := json.Marshal(&m)
		if err != nil {
			return m, err
		}
		_, err = s.Slot(ctx, encryptionSlot, SlotOp{Verb: SlotPut, Value: value, Revision: revision})
		if err == nil || !errors.Is(err, ErrConflict) && !errors.Is(err, ErrUnknown) {
			return m, err
		}
	}
	return m, &Error{Code: CodeConflict, Message: "the store's mark of being encrypted is being changed elsewhere", Hint: "try again"}
}

// markEncrypted marks a store as encrypted, durably, unless it is marked so.
func markEncrypted(ctx context.Context, s Store, at time.Time) error {
	_, err := changeMark(ctx, s, func(m *encryptionMark, _ bool) (bool, error) {
		was := m.Encrypted
		m.Encrypted = true
		if !was {
			m.Since = toMillis(at)
		}
		return !was, nil
	})
	return err
}

// sealedThreads looks through a store without a mark for anything sealed, and
// counts threads until it finds it. Data keys are looked for first, since they
// are on record before what they seal, and whatever state summaries are in.
func sealedThreads(ctx context.Context, s Store) (sealed bool, threads int, err error) {
	if lister, ok := s.(SlotLister); ok {
		for item, err := range lister.Slots(ctx, "") {
			if err != nil {
				return false, 0, err
			}
			if strings.HasPrefix(item.Key.Step, dataKeyPrefix) {
				return true, 0, nil
			}
		}
	}
	for t, err := range s.Threads(ctx, ThreadQuery{}) {
		if errors.Is(err, ErrCorrupt) {
			return false, threads, nil // the data keys have spoken; other threads go on beside damage
		}
		if err != nil {
			return false, threads, err
		}
		if t.Sealed {
			return true, threads, nil
		}
		threads++
	}
	return false, threads, nil
}

// findEncryption returns a store's mark. Where there is none it looks through
// the whole store, once: one that holds anything sealed is marked as encrypted,
// and one with many threads as plain. A store that takes no writes is not marked.
func findEncryption(ctx context.Context, s Store, at time.Time) (*Encryption, error) {
	var found Encryption
	m, err := changeMark(ctx, s, func(m *encryptionMark, there bool) (bool, error) {
		if there {
			return false, nil
		}
		sealed, threads, err := sealedThreads(ctx, s)
		m.Encrypted, m.Since = sealed, toMillis(at)
		found = m.Encryption
		return sealed || threads >= markFrom, err
	})
	if errors.Is(err, ErrReadOnly) {
		return &found, nil
	}
	if err != nil {
		return nil, err
	}
	return &m.Encryption, nil
}

// Encryption returns whether the store is encrypted, as it has it on record. A
// store of a version that kept no such record is looked through, once. It needs
// no Cipher.
func (l *Core) Encryption(ctx context.Context) (*Encryption, error) {
	return findEncryption(ctx, l.store, l.opt.Now())
}

// WriteInClear puts on record that an encrypted store may be written in the
// clear from now on. Without it a Ledger that has no Cipher is refused, whichever
// thread it writes to. What is sealed stays so, and threads that have been sealed
// still need their keys. A Ledger with a Cipher that writes later marks the store
// as encrypted again. [ErrInvalid] without By or Reason, or on a Ledger that has
// a Cipher. A store that may be written in the clear already is left as it is.
func (l *Core) WriteInClear(ctx context.Context, d ClearDecision) (*Encryption, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if l.opt.Cipher != nil {
		return nil, &Error{Code: CodeInvalid, Field: "Cipher", Message: "is set: this ledger encrypts whatever it writes", Hint: "open the ledger without Options.Cipher"}
	}
	if _, err := l.Encryption(ctx); err != nil {
		return nil, err
	}
	m, err := changeMark(ctx, l.store, func(m *encryptionMark, _ bool) (bool, error) {
		if !m.Encrypted {
			return false, nil
		}
		d.At, d.Thread = toMillis(l.opt.Now()), ""
		m.Encrypted, m.Since = false, d.At
		m.decide(d)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return &m.Encryption, nil
}

// sealing sees to it that the store is marked as encrypted before anything is
// sealed in it.
func (l *Core) sealing(ctx context.Context) error {
	if l.encryption.sealed.Load() {
		return nil
	}
	err := markEncrypted(ctx, l.store, l.opt.Now())
	l.encryption.sealed.Store(err == nil)
	return err
}

// mayWriteClear refuses bodies in the clear where the store is encrypted.
func (l *Core) mayWriteClear(ctx context.Context, at time.Time) error {
	if at.UnixMilli() < l.encryption.clear.Load() {
		return nil
	}
	found, err := l.encrypted(ctx, at)
	if err != nil {
		return err
	}
	if found.Encrypted {
		return &Error{
			Code: CodeSealed, Message: "the store is encrypted, and this ledger has no keys",
			Hint: "set Options.Cipher; on the command line, POSTHOUSE_KEYS or the key file in the data directory. " +
				"To write in the clear from now on, put that on record: Ledger.WriteInClear, posthouse encryption clear",
		}
	}
	l.encryption.clear.Store(at.Add(recheckClear).UnixMilli())
	return nil
}

// encrypted returns the store's mark. Only the first call looks through a store
// without one: whoever seals anything in it since has marked it before.
func (l *Core) encrypted(ctx context.Context, at time.Time) (*Encryption, error) {
	if l.encryption.looked.Load() {
		m, _, err := readMark(ctx, l.store)
		return &m.Encryption, err
	}
	found, err := findEncryption(ctx, l.store, at)
	l.encryption.looked.Store(err == nil)
	return found, err
}

// copyMark carries the source's mark over before anything is copied. A source
// that is plain, by its own record or by all that is in it, is not copied into a
// target that is encrypted.
func copyMark(ctx context.Context, from, to Store) error {
	src, _, err := readMark(ctx, from)
	if err == nil && src.Format == 0 {
		src.Encrypted, _, err = sealedThreads(ctx, from) // the source is left as it is
	}
	if err != nil {
		return err
	}
	if src.Encrypted {
		return markEncrypted(ctx, to, src.Since)
	}
	_, err = changeMark(ctx, to, func(m *encryptionMark, there bool) (bool, error) {
		if m.Encrypted && len(src.Decisions) == 0 {
			return false, &Error{
				Code: CodeSealed, Message: "the target is encrypted, and the source is not: its states would be in the target in the clear",
				Hint: "copy into a store of its own, or put it on record for the target first: Ledger.WriteInClear, posthouse encryption clear",
			}
		}
		if there || len(src.Decisions) == 0 {
			return false, nil
		}
		*m = src
		return true, nil
	})
	return err
}

// admitImport sees to it that a thread from a file leaves the store's mark true:
// one that is sealed, or was begun in the clear and is now, marks the store; one
// in the clear is refused where the store is encrypted, or the decision to have it
// goes on record.
func (l *Core) admitImport(ctx context.Context, p *replay, clear *ClearDecision) error {
	switch {
	case p.sealed:
		return l.sealing(ctx)
	case !p.clear:
		return nil
	}
	found, err := l.Encryption(ctx)
	if err != nil || !found.Encrypted && l.opt.Cipher == nil {
		return err
	}
	if clear == nil {
		return &Error{
			Code: CodeSealed, Message: "the file holds thread " + p.info.Thread + " in the clear, and the store is encrypted",
			Hint: "nothing was written. Its bytes cannot be encrypted, since its hashes cover them: import it into a plain store, or set ImportOptions.Clear",
		}
	}
	d := *clear
	if err := d.validate(); err != nil {
		return err
	}
	d.Thread, d.At = p.info.Thread, toMillis(l.opt.Now())
	_, err = changeMark(ctx, l.store, func(m *encryptionMark, _ bool) (bool, error) {
		m.decide(d)
		return true, nil
	})
	return err
}

// clearBodies reports whether the entry in the making has a body that would be
// sealed if there were keys.
func (a *appending) clearBodies() bool {
	for i, body := range a.bodies {
		if len(body) > 0 && a.records[i].Kind.seals() {
			return true
		}
	}
	return false
}

// protect seals the entry's bodies, or sees that the store takes them in the clear.
func (a *appending) protect() error {
	if a.seals() {
		return a.sealBodies()
	}
	if a.clearBodies() {
		return a.l.mayWriteClear(a.ctx, a.at)
	}
	return nil
}
