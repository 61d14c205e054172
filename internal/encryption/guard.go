package encryption

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// A guard knows what a process has read of its store's mark.
type guard struct {
	sealed atomic.Bool  // the store is marked as encrypted; with a Cipher
	looked atomic.Bool  // the store was looked through: from then on its mark is complete
	clear  atomic.Int64 // until when it may be written in the clear, in Unix milliseconds

	// turn is held by the one who asks the store. Others wait for the answer: looking
	// through a store costs as much as the store has threads.
	turn chan struct{}
}

// MarkEncrypted marks the store as encrypted, before anything is sealed in it.
func (v *Vault) MarkEncrypted(ctx context.Context) error {
	if v.guard.sealed.Load() {
		return nil
	}
	err := markEncrypted(ctx, v.Store, v.Now())
	v.guard.sealed.Store(err == nil)
	return err
}

// CheckClear refuses bodies in the clear where the store is encrypted.
func (v *Vault) CheckClear(ctx context.Context, at time.Time) error {
	mayClear := func() bool { return at.UnixMilli() < v.guard.clear.Load() }
	if mayClear() {
		return nil
	}
	select {
	case v.guard.turn <- struct{}{}:
		defer func() { <-v.guard.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if mayClear() {
		return nil
	}
	found, err := v.encrypted(ctx, at)
	if err != nil {
		return err
	}
	if found.Encrypted {
		return &posthouse.Error{
			Code: posthouse.CodeSealed, Message: "the store is encrypted, and this ledger has no keys",
			Hint: "set Options.Cipher; on the command line, POSTHOUSE_KEYS or the key file in the data directory. " +
				"To write in the clear from now on, put that on record: crypt.WriteInClear, posthouse encryption clear",
		}
	}
	v.guard.clear.Store(at.Add(recheckClear).UnixMilli())
	return nil
}

// encrypted returns the store's mark. Only the first call looks through a store without
// one: any process that seals something marks it before.
func (v *Vault) encrypted(ctx context.Context, at time.Time) (*posthouse.Encryption, error) {
	if v.guard.looked.Load() {
		m, _, err := readMark(ctx, v.Store)
		return &m.Encryption, err
	}
	found, err := Find(ctx, v.Store, at)
	v.guard.looked.Store(err == nil)
	return found, err
}
