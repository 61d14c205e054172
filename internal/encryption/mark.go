package encryption

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// CheckClearDecision checks who decides to write in the clear, and why.
func CheckClearDecision(d *posthouse.ClearDecision) error {
	if err := errors.Join(posthouse.ValidateText("by", d.By), posthouse.ValidateText("reason", d.Reason)); err != nil {
		return err
	}
	if d.By == "" || d.Reason == "" {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "by", Message: "or reason is empty", Hint: "who decides to write in the clear, and why, stays on record"}
	}
	return nil
}

// Decide adds a decision to the mark, and drops the oldest beyond 100.
func (m *Mark) Decide(d posthouse.ClearDecision) {
	m.Decisions = append(m.Decisions, d)
	m.Decisions = m.Decisions[max(0, len(m.Decisions)-maxDecisions):]
}

// encryptionSlot is where the mark is kept. No process has a name like it.
var encryptionSlot = posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: "$encryption"}

// A Mark is the content of that slot.
type Mark struct {
	Format int `json:"format"` // 1
	posthouse.Encryption
}

const (
	MaxTries     = 100 // where others change the same slot
	maxDecisions = 100
	markFrom     = 1000 // threads: a smaller store without a mark is looked through by each process, and not marked as plain

	// recheckClear is how long a Ledger without a Cipher relies on what it read:
	// another process may begin to encrypt.
	recheckClear = time.Second
)

// readMark returns the store's mark with its slot's revision, or 0 without a mark.
func readMark(ctx context.Context, s posthouse.Store) (m Mark, revision uint64, err error) {
	slot, err := s.Slot(ctx, encryptionSlot, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return m, 0, nil
	}
	if err != nil {
		return m, 0, err
	}
	if json.Unmarshal(slot.Value, &m) != nil || m.Format != 1 {
		return m, 0, &posthouse.Error{
			Code: posthouse.CodeSealed, Message: "the store's mark of being encrypted does not decode",
			Hint: "a newer version wrote it, or it is damaged: use that version, or restore the store from a backup",
		}
	}
	return m, slot.Revision, nil
}

// ChangeMark writes the mark that change makes of the current one. If change returns
// false it writes nothing. After a concurrent change it starts over.
func ChangeMark(ctx context.Context, s posthouse.Store, change func(*Mark, bool) (bool, error)) (m Mark, err error) {
	var lost error // a write before, with an outcome that is not known
	for range MaxTries {
		var revision uint64
		m, revision, err = readMark(ctx, s)
		if err != nil && lost != nil {
			return m, lost
		} else if err != nil {
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
		_, err = s.Slot(ctx, encryptionSlot, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision})
		if err == nil || !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrUnknown) {
			return m, err
		}
		lost = nil
		if errors.Is(err, posthouse.ErrUnknown) {
			lost = err
		}
	}
	return m, &posthouse.Error{Code: posthouse.CodeConflict, Message: "the store's mark of being encrypted is being changed elsewhere", Hint: "try again"}
}

// markEncrypted durably marks a store as encrypted, if it is not marked yet.
func markEncrypted(ctx context.Context, s posthouse.Store, at time.Time) error {
	_, err := ChangeMark(ctx, s, func(m *Mark, _ bool) (bool, error) {
		was := m.Encrypted
		m.Encrypted = true
		if !was {
			m.Since = posthouse.ToMillis(at)
		}
		return !was, nil
	})
	return err
}

// sealedThreads looks through a store without a mark for anything sealed, and counts
// threads until it finds it. It looks for data keys first: they are recorded before
// what they seal, and do not depend on summaries.
func sealedThreads(ctx context.Context, s posthouse.Store) (sealed bool, threads int, err error) {
	if lister, ok := s.(posthouse.SlotLister); ok {
		for item, err := range lister.Slots(ctx, "") {
			if err != nil {
				return false, 0, err
			}
			if strings.HasPrefix(item.Key.Step, dataKeyPrefix) {
				return true, 0, nil
			}
		}
	}
	for t, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if errors.Is(err, posthouse.ErrCorrupt) {
			return false, threads, nil // data keys decide; damage in one thread does not stop others
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

// Find returns what a store has on record about its  It needs no
// Cipher; now is the time of a mark that it makes.
//
// A store without such a record, of an earlier version, is looked through once. One
// that holds anything sealed is marked as encrypted, one with many threads as plain. A
// store that takes no writes is not marked.
func Find(ctx context.Context, s posthouse.Store, now time.Time) (*posthouse.Encryption, error) {
	var found posthouse.Encryption
	m, err := ChangeMark(ctx, s, func(m *Mark, there bool) (bool, error) {
		if there {
			return false, nil
		}
		sealed, threads, err := sealedThreads(ctx, s)
		m.Encrypted, m.Since = sealed, posthouse.ToMillis(now)
		found = m.Encryption
		return sealed || threads >= markFrom, err
	})
	if errors.Is(err, posthouse.ErrReadOnly) {
		return &found, nil
	}
	if err != nil {
		return nil, err
	}
	return &m.Encryption, nil
}

// CopyMark copies the source's mark before anything else is copied. A source that is
// plain, by its record or by its content, is not copied into an encrypted target.
func CopyMark(ctx context.Context, from, to posthouse.Store) error {
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
	_, err = ChangeMark(ctx, to, func(m *Mark, there bool) (bool, error) {
		if m.Encrypted && len(src.Decisions) == 0 {
			return false, &posthouse.Error{
				Code: posthouse.CodeSealed, Message: "the target is encrypted, and the source is not: its states would be in the target in the clear",
				Hint: "copy into a store of its own, or put it on record for the target first: crypt.WriteInClear, posthouse encryption clear",
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
