package posthouse

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/posthouse/posthouse/internal/canon"
)

// A dataKeyOf says whose data key: one generation of one thread.
type dataKeyOf struct {
	thread     string
	generation uint32
}

// slot is where the wrapped key is kept, beside the log, so that it can be
// wrapped anew without touching an entry.
func (k dataKeyOf) slot() SlotKey {
	return SlotKey{k.thread, dataKeyPrefix + strconv.FormatUint(uint64(k.generation), 10)}
}

// dataKeyPrefix is what the steps of slots with data keys begin with.
const dataKeyPrefix = "$key-"

// keySlots names the slots of a thread that may hold data keys.
func keySlots(ctx context.Context, s Store, thread string) (steps []string, err error) {
	for t, err := range s.Threads(ctx, ThreadQuery{Thread: thread}) {
		if err != nil {
			return nil, err
		}
		for g := uint32(1); g <= t.Generation; g++ {
			steps = append(steps, dataKeyOf{thread, g}.slot().Step)
		}
	}
	return steps, nil
}

const domainDataKey = "posthouse/data-key/1"

// binding keeps a wrapped key from being opened for another thread or
// generation, or under another key's name.
func (k dataKeyOf) binding(key string) []byte {
	b := canon.AppendString(nil, domainDataKey)
	b = canon.AppendUint(canon.AppendString(b, k.thread), uint64(k.generation))
	return canon.AppendString(b, key)
}

// A wrappedKey is the content of a key slot.
type wrappedKey struct {
	Format  int    `json:"format"` // 1
	Key     string `json:"key"`    // what it is wrapped with
	Wrapped []byte `json:"wrapped"`
}

const maxWrapped = 16 << 10

// A dataKey seals and opens bodies.
type dataKey struct {
	cipher.AEAD
	wrappedBy string // when it was read; for messages
}

// maxDataKeys bounds how many unwrapped keys are remembered, of about 1 KB each.
const maxDataKeys = 16 * maxThreads

// dataKeys remembers what was unwrapped. A data key never changes.
type dataKeys struct {
	mu   sync.Mutex
	have map[dataKeyOf]*dataKey
}

func (c *dataKeys) get(of dataKeyOf) *dataKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have[of]
}

func (c *dataKeys) put(of dataKeyOf, k *dataKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have == nil {
		c.have = map[dataKeyOf]*dataKey{}
	}
	if n := len(c.have); n >= maxDataKeys {
		for have := range c.have { // any of them: to drop all would make each run ask again at once
			delete(c.have, have)
			if len(c.have) <= n-n/8 {
				break
			}
		}
	}
	c.have[of] = k
}

func (c *dataKeys) forget(of dataKeyOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.have, of)
}

func (c *dataKeys) forgetThread(thread string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.have, func(of dataKeyOf, _ *dataKey) bool { return of.thread == thread })
}

func (k dataKeyOf) sealed(cause error, hint, format string, args ...any) *Error {
	return &Error{
		Code: CodeSealed, Err: cause, Hint: hint,
		Message: fmt.Sprintf("thread %q (generation %d) is encrypted, and ", k.thread, k.generation) + fmt.Sprintf(format, args...),
	}
}

const restoreHint = "restore the store from a backup that has it, slots included"

// dataKey returns a data key that exists.
func (l *Core) dataKey(ctx context.Context, of dataKeyOf) (*dataKey, error) {
	if k := l.keys.get(of); k != nil {
		return k, nil
	}
	if l.opt.Cipher == nil {
		return nil, of.sealed(nil, "set Options.Cipher; on the command line, POSTHOUSE_KEYS or the key file in the data directory", "this ledger has no keys")
	}
	w, _, err := l.wrappedKey(ctx, of)
	if errors.Is(err, ErrNotFound) {
		return nil, of.sealed(nil, restoreHint, "its data key is not in the store")
	}
	if err != nil {
		return nil, err
	}
	raw, err := l.unwrap(ctx, of, w)
	if err != nil {
		return nil, err
	}
	k := &dataKey{newGCM([keySize]byte(raw)), w.Key}
	l.keys.put(of, k)
	return k, nil
}

// wrappedKey reads a key slot: [ErrNotFound] if there is none.
func (l *Core) wrappedKey(ctx context.Context, of dataKeyOf) (w wrappedKey, revision uint64, err error) {
	slot, err := l.store.Slot(ctx, of.slot(), SlotOp{Verb: SlotGet})
	if err != nil {
		return w, 0, err
	}
	if json.Unmarshal(slot.Value, &w) != nil || w.Format != 1 || checkKeyID(w.Key) != nil || len(w.Wrapped) > maxWrapped {
		return w, 0, of.sealed(nil, restoreHint, "its data key does not decode")
	}
	return w, slot.Revision, nil
}

func (l *Core) unwrap(ctx context.Context, of dataKeyOf, w wrappedKey) ([]byte, error) {
	raw, err := l.opt.Cipher.Unwrap(ctx, w.Key, w.Wrapped, of.binding(w.Key))
	if err != nil {
		return nil, of.refused(ctx, w.Key, "unwrapped", err)
	}
	if len(raw) != keySize {
		return nil, of.sealed(nil, restoreHint, "key %q opened a data key of %d bytes", w.Key, len(raw))
	}
	return raw, nil
}

// refused tells what a Cipher said of a key.
func (k dataKeyOf) refused(ctx context.Context, key, verb string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	hint := "see that the key management service can be reached, and may be used"
	var e *Error
	if errors.As(err, &e) && e.Hint != "" {
		c := *e
		hint, c.Hint = e.Hint, ""
		err = &c
	}
	return k.sealed(err, hint, "its data key could not be %s with key %q", verb, key)
}

// makeDataKey makes the data key of a thread that has nothing sealed yet, or
// returns the one that another process was first to make. It is durable before
// anything is sealed with it.
func (l *Core) makeDataKey(ctx context.Context, of dataKeyOf) error {
	for range maxRetries {
		_, _, err := l.wrappedKey(ctx, of)
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		raw := make([]byte, keySize)
		_, _ = rand.Read(raw) // never fails, see crypto/rand
		value, err := l.wrap(ctx, of, raw)
		if err != nil {
			return err
		}
		_, err = l.store.Slot(ctx, of.slot(), SlotOp{Verb: SlotPut, Value: value})
		if err == nil || !errors.Is(err, ErrConflict) && !errors.Is(err, ErrUnknown) {
			return err
		}
	}
	return &Error{Code: CodeConflict, Message: "the data key of thread " + of.thread + " could not be put on record", Hint: "try again"}
}

// wrap returns the content of a key slot, wrapped by the current key.
func (l *Core) wrap(ctx context.Context, of dataKeyOf, raw []byte) ([]byte, error) {
	key := l.opt.Cipher.Current()
	if err := checkKeyID(key); err != nil {
		return nil, err
	}
	wrapped, err := l.opt.Cipher.Wrap(ctx, key, raw, of.binding(key))
	if err != nil {
		return nil, of.refused(ctx, key, "wrapped", err)
	}
	if len(wrapped) > maxWrapped {
		return nil, tooLarge("wrapped key", len(wrapped), maxWrapped)
	}
	return json.Marshal(wrappedKey{Format: 1, Key: key, Wrapped: wrapped})
}

// dropKeys takes away the data keys of a thread's generations up to the given
// one, of which nothing is left: what was sealed with them cannot be opened any
// more, in a backup of the log neither.
func (l *Core) dropKeys(ctx context.Context, thread string, upTo uint32) error {
	for g := uint32(1); g <= upTo; g++ {
		if err := l.dropKey(ctx, dataKeyOf{thread, g}); err != nil {
			return err
		}
	}
	return nil
}

func (l *Core) dropKey(ctx context.Context, of dataKeyOf) error {
	l.keys.forget(of)
	_, err := l.store.Slot(ctx, of.slot(), SlotOp{Verb: SlotGet})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = l.store.Slot(ctx, of.slot(), SlotOp{Verb: SlotDelete, Revision: AnyRevision})
	}
	return err
}
