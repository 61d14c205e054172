package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/base/text"
)

// A DataKeyOf names the owner of a data key: one generation of one thread.
type DataKeyOf struct {
	Thread     string
	Generation uint32
}

// Slot is where the wrapped key is kept: beside the log, so that rewrapping touches
// no entry.
func (k DataKeyOf) Slot() posthouse.SlotKey {
	return posthouse.SlotKey{Thread: k.Thread, Step: dataKeyPrefix + strconv.FormatUint(uint64(k.Generation), 10)}
}

// dataKeyPrefix begins the steps of slots with data keys.
const dataKeyPrefix = "$key-"

// KeySlots returns the steps of a thread's slots that may hold data keys.
func KeySlots(ctx context.Context, s posthouse.Store, thread string) (steps []string, err error) {
	for t, err := range s.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return nil, err
		}
		for g := uint32(1); g <= t.Generation; g++ {
			steps = append(steps, DataKeyOf{thread, g}.Slot().Step)
		}
	}
	return steps, nil
}

const domainDataKey = "posthouse/data-key/1"

// binding ties a wrapped key to its thread, its generation and the name of the wrapping
// key: it opens for no other.
func (k DataKeyOf) binding(key string) []byte {
	b := canon.AppendString(nil, domainDataKey)
	b = canon.AppendUint(canon.AppendString(b, k.Thread), uint64(k.Generation))
	return canon.AppendString(b, key)
}

type wrappedKey struct {
	Format  int    `json:"format"` // 1
	Key     string `json:"key"`    // what it is wrapped with
	Wrapped []byte `json:"wrapped"`
}

const maxWrapped = 16 << 10

type dataKey struct {
	cipher.AEAD
	wrappedBy string // when it was read; for messages
}

func (k DataKeyOf) sealed(cause error, hint, format string, args ...any) *posthouse.Error {
	return &posthouse.Error{
		Code: posthouse.CodeSealed, Err: cause, Hint: hint,
		Message: fmt.Sprintf("thread %q (generation %d) is encrypted, and ", k.Thread, k.Generation) + fmt.Sprintf(format, args...),
	}
}

const restoreHint = "restore the store from a backup that has it, slots included"

// ReadWrappedKey reads a key slot. [posthouse.ErrNotFound] if it is empty.
func ReadWrappedKey(ctx context.Context, s posthouse.Store, of DataKeyOf) (w wrappedKey, revision uint64, err error) {
	slot, err := s.Slot(ctx, of.Slot(), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil {
		return w, 0, err
	}
	if json.Unmarshal(slot.Value, &w) != nil || w.Format != 1 || CheckKeyID(w.Key) != nil || len(w.Wrapped) > maxWrapped {
		return w, 0, of.sealed(nil, restoreHint, "its data key does not decode")
	}
	return w, slot.Revision, nil
}

// Unwrap returns the data key of a slot's content. [posthouse.ErrSealed] if the Cipher
// refuses.
func Unwrap(ctx context.Context, c posthouse.Cipher, of DataKeyOf, w wrappedKey) ([]byte, error) {
	raw, err := c.Unwrap(ctx, w.Key, w.Wrapped, of.binding(w.Key))
	if err != nil {
		return nil, of.refused(ctx, w.Key, "unwrapped", err)
	}
	if len(raw) != KeySize {
		return nil, of.sealed(nil, restoreHint, "key %q opened a data key of %d bytes", w.Key, len(raw))
	}
	return raw, nil
}

func (k DataKeyOf) refused(ctx context.Context, key, verb string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	hint := "see that the key management service can be reached, and may be used"
	var e *posthouse.Error
	if errors.As(err, &e) && e.Hint != "" {
		c := *e
		hint, c.Hint = e.Hint, ""
		err = &c
	}
	return k.sealed(err, hint, "its data key could not be %s with key %q", verb, key)
}

// makeDataKey puts the data key of a thread on record, unless another process has.
// It is durable before anything is sealed with it.
func makeDataKey(ctx context.Context, s posthouse.Store, c posthouse.Cipher, of DataKeyOf) error {
	for range MaxTries {
		_, _, err := ReadWrappedKey(ctx, s, of)
		if !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
		raw := make([]byte, KeySize)
		_, _ = rand.Read(raw) // never fails, see crypto/rand
		value, err := Wrap(ctx, c, of, raw)
		if err != nil {
			return err
		}
		_, err = s.Slot(ctx, of.Slot(), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value})
		if err == nil || !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrUnknown) {
			return err
		}
	}
	return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the data key of thread " + of.Thread + " could not be put on record", Hint: "try again"}
}

// Wrap returns the content of a key slot, wrapped by the current key.
func Wrap(ctx context.Context, c posthouse.Cipher, of DataKeyOf, raw []byte) ([]byte, error) {
	key := c.Current()
	if err := CheckKeyID(key); err != nil {
		return nil, err
	}
	wrapped, err := c.Wrap(ctx, key, raw, of.binding(key))
	if err != nil {
		return nil, of.refused(ctx, key, "wrapped", err)
	}
	if len(wrapped) > maxWrapped {
		return nil, posthouse.TooLarge("wrapped key", len(wrapped), maxWrapped)
	}
	return json.Marshal(wrappedKey{Format: 1, Key: key, Wrapped: wrapped})
}

// KeySize is the length of all keys: AES-256.
const KeySize = 32

// CheckKeyID checks the name of a key: 1 to 200 bytes of text.
func CheckKeyID(id string) error {
	if id == "" || len(id) > posthouse.MaxID || !text.Valid(id) {
		return posthouse.Invalid("key id", "%.40q must be 1 to %d bytes of text without control characters", id, posthouse.MaxID)
	}
	return nil
}

// NewGCM returns AES-256-GCM with a random nonce in front of what it seals.
func NewGCM(key [KeySize]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var gcm cipher.AEAD
		gcm, err = cipher.NewGCMWithRandomNonce(block)
		if err == nil {
			return gcm
		}
	}
	panic("posthouse: AES-256-GCM refuses a key of 32 bytes: " + err.Error()) // as documented, it does not
}
