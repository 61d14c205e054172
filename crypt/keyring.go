package crypt

import (
	"context"
	"crypto/cipher"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/encryption"
)

// A Keyring is a [posthouse.Cipher] with its keys in memory. It never changes. To rotate,
// open the Ledger with a ring that has one more key as the current one, and call
// [Rewrap].
type Keyring struct {
	current string
	keys    map[string]cipher.AEAD
}

// NewKeyring returns a ring of 32-byte keys by their ids. It wraps new data keys with the
// current key; the others unwrap older ones. It fails with [posthouse.ErrInvalid] for an id
// that is not 1 to 200 bytes of text, a key of another length or of zeros, and a current
// key that is not in keys.
func NewKeyring(keys map[string][]byte, current string) (*Keyring, error) {
	r := &Keyring{current: current, keys: make(map[string]cipher.AEAD, len(keys))}
	for id, key := range keys {
		if err := encryption.CheckKeyID(id); err != nil {
			return nil, err
		}
		if len(key) != encryption.KeySize {
			return nil, posthouse.Invalid("keys", "%q has %d bytes, not %d", id, len(key), encryption.KeySize)
		}
		if [encryption.KeySize]byte(key) == [encryption.KeySize]byte{} {
			return nil, posthouse.Invalid("keys", "%q is all zeros", id)
		}
		r.keys[id] = encryption.NewGCM([encryption.KeySize]byte(key))
	}
	if r.keys[current] == nil {
		return nil, posthouse.Invalid("current", "%.40q is not among the keys", current)
	}
	return r, nil
}

// Current implements [posthouse.Cipher].
func (r *Keyring) Current() string { return r.current }

// Wrap implements [posthouse.Cipher].
func (r *Keyring) Wrap(_ context.Context, key string, dataKey, binding []byte) ([]byte, error) {
	k, err := r.key(key)
	if err != nil {
		return nil, err
	}
	return k.Seal(nil, nil, dataKey, binding), nil
}

// Unwrap implements [posthouse.Cipher]. It fails with [posthouse.ErrSealed] if the ring does
// not have the key or has another of that name, or if the bytes were changed or belong to
// another thread.
func (r *Keyring) Unwrap(_ context.Context, key string, wrapped, binding []byte) ([]byte, error) {
	k, err := r.key(key)
	if err != nil {
		return nil, err
	}
	dataKey, err := k.Open(nil, nil, wrapped, binding)
	if err != nil {
		return nil, &posthouse.Error{
			Code:    posthouse.CodeSealed,
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
	return nil, &posthouse.Error{
		Code: posthouse.CodeSealed, Message: fmt.Sprintf("key %q is not in the keyring", id),
		Hint: "add the key to the keyring; it may be removed only after Rewrap",
	}
}
