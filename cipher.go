package posthouse

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// A Cipher wraps data keys: with one in [Options], what people and programs put
// into a store is sealed before it gets there. Each generation of each thread
// has a data key of its own, made at random by the Ledger, which seals bodies
// with it (AES-256-GCM) and keeps it in the store wrapped by one of the
// Cipher's keys. So the Cipher is asked once a thread, not once a step, and may
// be a key management service. [Keyring] is one with keys in memory.
//
// Methods may be called at once from many goroutines. An error is told as
// [ErrSealed] with the thread and the key's id; a cancelled ctx as itself.
type Cipher interface {
	// Current names the key that new data keys are wrapped with: 1 to 200 bytes
	// of text. Names are kept in the clear; a name must always mean the same key.
	Current() string

	// Wrap encrypts a data key of 32 bytes with the named key, which is the
	// current one, and authenticates binding with it: what Unwrap is given with
	// any other binding must not unwrap. The result is at most 16 KiB.
	Wrap(ctx context.Context, key string, dataKey, binding []byte) ([]byte, error)

	// Unwrap undoes Wrap with the named key, which need not be the current one.
	Unwrap(ctx context.Context, key string, wrapped, binding []byte) ([]byte, error)
}

// keySize is the length of all keys: AES-256.
const keySize = 32

// A Keyring is a [Cipher] with its keys in memory. It does not change: to
// rotate, open the Ledger with a ring that has one more key as the current one,
// and call [Ledger.Rewrap].
type Keyring struct {
	current string
	keys    map[string]cipher.AEAD
}

// NewKeyring returns a ring of 32-byte keys by their ids. New data keys are
// wrapped with the current one; the others open what was wrapped before.
// [ErrInvalid] for an id that is not 1 to 200 bytes of text, for another
// length, for a key of zeros and for a current one that is not there.
func NewKeyring(keys map[string][]byte, current string) (*Keyring, error) {
	r := &Keyring{current: current, keys: make(map[string]cipher.AEAD, len(keys))}
	for id, key := range keys {
		if err := checkKeyID(id); err != nil {
			return nil, err
		}
		if len(key) != keySize {
			return nil, invalid("keys", "%q has %d bytes, not %d", id, len(key), keySize)
		}
		if [keySize]byte(key) == [keySize]byte{} {
			return nil, invalid("keys", "%q is all zeros", id)
		}
		r.keys[id] = newGCM([keySize]byte(key))
	}
	if r.keys[current] == nil {
		return nil, invalid("current", "%.40q is not among the keys", current)
	}
	return r, nil
}

func checkKeyID(id string) error {
	if id == "" || len(id) > MaxID || !validText(id) {
		return invalid("key id", "%.40q must be 1 to %d bytes of text without control characters", id, MaxID)
	}
	return nil
}

// newGCM returns AES-256-GCM that makes a random nonce and puts it in front.
func newGCM(key [keySize]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err == nil {
		var gcm cipher.AEAD
		if gcm, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return gcm
		}
	}
	panic("posthouse: AES-256-GCM refuses a key of 32 bytes: " + err.Error()) // as documented, it does not
}

// Current implements [Cipher].
func (r *Keyring) Current() string { return r.current }

// Wrap implements [Cipher].
func (r *Keyring) Wrap(_ context.Context, key string, dataKey, binding []byte) ([]byte, error) {
	k, err := r.key(key)
	if err != nil {
		return nil, err
	}
	return k.Seal(nil, nil, dataKey, binding), nil
}

// Unwrap implements [Cipher]. [ErrSealed] if the ring does not have the key, or
// has another of that name, or the bytes were tampered with or belong elsewhere.
func (r *Keyring) Unwrap(_ context.Context, key string, wrapped, binding []byte) ([]byte, error) {
	k, err := r.key(key)
	if err != nil {
		return nil, err
	}
	dataKey, err := k.Open(nil, nil, wrapped, binding)
	if err != nil {
		return nil, &Error{
			Code:    CodeSealed,
			Message: fmt.Sprintf("key %q does not open it: it is another key of that name, or the wrapped data key was changed or belongs elsewhere", key),
			Hint:    "use the key it was wrapped with; if that is the one, restore the store from a backup",
		}
	}
	return dataKey, nil
}

func (r *Keyring) key(id string) (cipher.AEAD, error) {
	if k := r.keys[id]; k != nil {
		return k, nil
	}
	return nil, &Error{
		Code: CodeSealed, Message: fmt.Sprintf("key %q is not in the keyring", id),
		Hint: "add the key to the keyring; it may be removed only after Rewrap",
	}
}
