package core

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

type encryptionGuard struct {
	sealed atomic.Bool  // the store is marked as encrypted; with a Cipher
	looked atomic.Bool  // the store was looked through: from then on its mark is complete
	clear  atomic.Int64 // until when it may be written in the clear, in Unix milliseconds

	// turn is held by the one who asks the store. Others wait for the answer: looking
	// through a store costs as much as the store has threads.
	turn chan struct{}
}

// Sealing marks the store as encrypted, before anything is sealed in it.
func (c *Core) Sealing(ctx context.Context) error {
	if c.encryption.sealed.Load() {
		return nil
	}
	err := markEncrypted(ctx, c.Store, c.Config.Now())
	c.encryption.sealed.Store(err == nil)
	return err
}

// mayWriteClear refuses bodies in the clear where the store is encrypted.
func (c *Core) mayWriteClear(ctx context.Context, at time.Time) error {
	mayClear := func() bool { return at.UnixMilli() < c.encryption.clear.Load() }
	if mayClear() {
		return nil
	}
	select {
	case c.encryption.turn <- struct{}{}:
		defer func() { <-c.encryption.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if mayClear() {
		return nil
	}
	found, err := c.encrypted(ctx, at)
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
	c.encryption.clear.Store(at.Add(recheckClear).UnixMilli())
	return nil
}

// encrypted returns the store's mark. Only the first call looks through a store without
// one: any process that seals something marks it before.
func (c *Core) encrypted(ctx context.Context, at time.Time) (*posthouse.Encryption, error) {
	if c.encryption.looked.Load() {
		m, _, err := readMark(ctx, c.Store)
		return &m.Encryption, err
	}
	found, err := FindEncryption(ctx, c.Store, at)
	c.encryption.looked.Store(err == nil)
	return found, err
}

// clearBodies reports whether the entry has a body that an encrypted store would seal.
func (tx *Tx) clearBodies() bool {
	for i, body := range tx.Bodies {
		if len(body) > 0 && tx.Records[i].Kind.Seals() {
			return true
		}
	}
	return false
}

// protect seals the entry's bodies, or checks that the store takes them in the clear.
func (tx *Tx) protect() error {
	if tx.Seals() {
		return tx.sealBodies()
	}
	if tx.clearBodies() {
		return tx.Core.mayWriteClear(tx.Ctx, tx.At)
	}
	return nil
}
