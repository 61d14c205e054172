package encryption

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/posthouse/posthouse"
)

// maxDataKeys bounds how many unwrapped keys are cached, about 1 KB each.
const maxDataKeys = 1 << 16

// dataKeys caches unwrapped keys. A data key never changes.
type dataKeys struct {
	mu   sync.Mutex
	have map[DataKeyOf]*dataKey
}

func (c *dataKeys) Get(of DataKeyOf) *dataKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have[of]
}

func (c *dataKeys) Put(of DataKeyOf, k *dataKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have == nil {
		c.have = map[DataKeyOf]*dataKey{}
	}
	if n := len(c.have); n >= maxDataKeys {
		for have := range c.have { // any of them: dropping all would make each run ask again at once
			delete(c.have, have)
			if len(c.have) <= n-n/8 {
				break
			}
		}
	}
	c.have[of] = k
}

func (c *dataKeys) forget(of DataKeyOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.have, of)
}

func (c *dataKeys) ForgetThread(thread string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.have, func(of DataKeyOf, _ *dataKey) bool { return of.Thread == thread })
}

func (v *Vault) dataKey(ctx context.Context, of DataKeyOf) (*dataKey, error) {
	if k := v.Keys.Get(of); k != nil {
		return k, nil
	}
	if v.Cipher == nil {
		return nil, of.sealed(nil, "set Options.Cipher; on the command line, POSTHOUSE_KEYS or the key file in the data directory", "this ledger has no keys")
	}
	w, _, err := ReadWrappedKey(ctx, v.Store, of)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, of.sealed(nil, restoreHint, "its data key is not in the store")
	}
	if err != nil {
		return nil, err
	}
	raw, err := Unwrap(ctx, v.Cipher, of, w)
	if err != nil {
		return nil, err
	}
	k := &dataKey{NewGCM([KeySize]byte(raw)), w.Key}
	v.Keys.Put(of, k)
	return k, nil
}

// DropKeysUpTo removes the data keys of a thread's generations up to the given one.
// Bytes that were sealed with them cannot be opened any more, not even in a backup of the
// log.
func (v *Vault) DropKeysUpTo(ctx context.Context, thread string, upTo uint32) error {
	for g := uint32(1); g <= upTo; g++ {
		if err := v.DropKey(ctx, DataKeyOf{thread, g}); err != nil {
			return err
		}
	}
	return nil
}

// DropKey removes one data key. Bytes that were sealed with it cannot be opened any more.
func (v *Vault) DropKey(ctx context.Context, of DataKeyOf) error {
	v.Keys.forget(of)
	_, err := v.Store.Slot(ctx, of.Slot(), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = v.Store.Slot(ctx, of.Slot(), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	}
	return err
}
