package sign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// keyPrefix names the algorithm in a key id.
const keyPrefix = "ed25519:"

// A Key is an Ed25519 key pair. It is a [posthouse.Signer] and safe for
// concurrent use.
type Key struct {
	private ed25519.PrivateKey
	public  Public
}

// A Public is the public half of a key, with the time in which its signatures count.
type Public struct {
	ID        string            // [KeyID] of Key
	Key       ed25519.PublicKey // 32 bytes
	NotBefore time.Time         // when it came into use; zero: no limit
	NotAfter  time.Time         // when it was retired; zero: in use
}

// Generate makes a new key.
func Generate() (*Key, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "no random numbers for a new key", Err: err}
	}
	return newKey(private), nil
}

func newKey(private ed25519.PrivateKey) *Key {
	return &Key{private, newPublic(private.Public().(ed25519.PublicKey))}
}

func newPublic(key ed25519.PublicKey) Public { return Public{ID: KeyID(key), Key: key} }

// KeyID returns the id of a public key: "ed25519:" and the first 16 hex digits of the
// SHA-256 of its SubjectPublicKeyInfo (DER).
func KeyID(key ed25519.PublicKey) string {
	spki, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return keyPrefix + "invalid"
	}
	sum := sha256.Sum256(spki)
	return keyPrefix + hex.EncodeToString(sum[:8])
}

// KeyID returns the key's id, see [KeyID].
func (k *Key) KeyID() string { return k.public.ID }

// Public returns the public half.
func (k *Key) Public() Public { return k.public }

// Sign returns the 64-byte Ed25519 signature over message. The error is always nil.
func (k *Key) Sign(message []byte) ([]byte, error) { return ed25519.Sign(k.private, message), nil }

// InUse reports whether the key was in use at a time, so that its signature counts.
func (p *Public) InUse(at time.Time) bool {
	return (p.NotBefore.IsZero() || !at.Before(p.NotBefore)) && (p.NotAfter.IsZero() || !at.After(p.NotAfter))
}

// Verify reports whether signature is the key's over message.
func (p *Public) Verify(message, signature []byte) bool {
	return len(p.Key) == ed25519.PublicKeySize && ed25519.Verify(p.Key, message, signature)
}

const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
)

func (k *Key) encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "key", Message: "cannot be encoded", Err: err}
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// ParseKey reads a private key: one PEM block with an unencrypted PKCS #8 Ed25519 key and
// nothing else. It fails with [posthouse.ErrInvalid].
func ParseKey(data []byte) (*Key, error) {
	block, rest := pem.Decode(data)
	if block == nil || strings.TrimSpace(string(rest)) != "" || len(block.Headers) > 0 || block.Type != pemPrivate {
		return nil, posthouse.Invalid("key", "is not one PEM block of type PRIVATE KEY (PKCS #8, not encrypted)")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "key", Message: "does not decode as PKCS #8", Err: err}
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, posthouse.Invalid("key", "is not an Ed25519 key")
	}
	return newKey(private), nil
}
