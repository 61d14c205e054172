package sign

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// A Ring is the public keys that verify signatures, including past keys. It never changes.
type Ring struct{ keys []Public }

const (
	headerNotBefore = "Not-Before"
	headerNotAfter  = "Not-After"
	maxRing         = 1 << 20 // bytes of a ring's file
)

// NewRing returns a ring of the keys. It fails with [posthouse.ErrInvalid] if a key is not
// 32 bytes long or does not have its [KeyID], or if two have one id.
func NewRing(keys ...Public) (*Ring, error) {
	r := &Ring{keys: slices.Clone(keys)}
	slices.SortFunc(r.keys, func(a, b Public) int { return cmp.Compare(a.ID, b.ID) })
	for i, k := range r.keys {
		switch {
		case len(k.Key) != ed25519.PublicKeySize:
			return nil, posthouse.Invalid("ring", "key %s is %d bytes long; an Ed25519 key has %d", k.ID, len(k.Key), ed25519.PublicKeySize)
		case k.ID != KeyID(k.Key):
			return nil, posthouse.Invalid("ring", "key %s has the id %s", KeyID(k.Key), k.ID)
		case i > 0 && r.keys[i-1].ID == k.ID:
			return nil, posthouse.Invalid("ring", "lists key %s twice", k.ID)
		}
	}
	return r, nil
}

// Keys returns the keys, by id.
func (r *Ring) Keys() []Public {
	if r == nil {
		return nil
	}
	return slices.Clone(r.keys)
}

// Key returns the key with an id. A nil ring knows no keys.
func (r *Ring) Key(id string) (Public, bool) {
	if r == nil {
		return Public{}, false
	}
	i, ok := slices.BinarySearchFunc(r.keys, id, func(k Public, id string) int { return cmp.Compare(k.ID, id) })
	if !ok {
		return Public{}, false
	}
	return r.keys[i], true
}

// with returns a ring in which k replaces the key of its id, or is added.
func (r *Ring) with(k Public) (*Ring, error) {
	keys := slices.DeleteFunc(r.Keys(), func(o Public) bool { return o.ID == k.ID })
	return NewRing(append(keys, k)...)
}

// MarshalText writes the ring as PEM. Each key is a PUBLIC KEY block, with its id in a
// comment above it and its times, if set, as headers.
func (r *Ring) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	for _, k := range r.Keys() {
		der, err := x509.MarshalPKIXPublicKey(k.Key)
		if err != nil {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "ring", Message: "key " + k.ID + " cannot be encoded", Err: err}
		}
		block := &pem.Block{Type: pemPublic, Headers: map[string]string{}, Bytes: der}
		if !k.NotBefore.IsZero() {
			block.Headers[headerNotBefore] = k.NotBefore.UTC().Format(time.RFC3339)
		}
		if !k.NotAfter.IsZero() {
			block.Headers[headerNotAfter] = k.NotAfter.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "# %s\n%s", k.ID, pem.EncodeToMemory(block))
	}
	return b.Bytes(), nil
}

// ParseRing reads what [Ring.MarshalText] wrote. A plain public key file, as openssl writes
// it, is a ring of one key. Between blocks only blank lines and lines that begin with # may
// appear, so a damaged block is an error and not a missing key. It fails with
// [posthouse.ErrInvalid].
func ParseRing(data []byte) (*Ring, error) {
	if len(data) > maxRing {
		return nil, posthouse.Invalid("ring", "is larger than 1 MiB")
	}
	var keys []Public
	err := secretfile.Blocks("ring", data, func(block *pem.Block) error {
		k, err := parsePublic(block)
		keys = append(keys, k)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, posthouse.Invalid("ring", "holds no public key")
	}
	return NewRing(keys...)
}

func parsePublic(block *pem.Block) (Public, error) {
	if block.Type != pemPublic {
		return Public{}, posthouse.Invalid("ring", "has a PEM block of type %q; only public keys belong in it", block.Type)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return Public{}, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "ring", Message: "has a public key that does not decode", Err: err}
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return Public{}, posthouse.Invalid("ring", "has a %T; only Ed25519 keys can be checked", parsed)
	}
	k := newPublic(key)
	for name, value := range block.Headers {
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case err != nil || at.IsZero():
			return Public{}, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "ring", Message: fmt.Sprintf("key %s: %.40s is not a time as 2026-01-02T15:04:05Z", k.ID, name), Err: err}
		case name == headerNotBefore:
			k.NotBefore = at.UTC()
		case name == headerNotAfter:
			k.NotAfter = at.UTC()
		default:
			return Public{}, posthouse.Invalid("ring", "key %s has the unknown header %.40q", k.ID, name)
		}
	}
	return k, nil
}
