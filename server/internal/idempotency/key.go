package idempotency

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
)

// maxKey bounds a key, in bytes.
const maxKey = 255

// Key returns the key of a request, "" without a key. It fails with [posthouse.ErrInvalid] for a
// key that is malformed, or that its route does not take.
func Key(r *api.Request) (string, error) {
	vs := r.Header.Values(api.KeyHeader)
	switch {
	case len(vs) == 0:
		return "", nil
	case len(vs) > 1:
		return "", posthouse.Invalid(api.KeyHeader, "is given twice")
	case !r.Route.TakesKey():
		return "", &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: api.KeyHeader, Message: "is not taken by this path",
			Hint: "leave it out: /openapi.json says which paths take it",
		}
	}
	key := vs[0]
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "", posthouse.Invalid(api.KeyHeader, "must be 1 to %d printable ASCII characters without spaces", maxKey)
	}
	return key, nil
}

// A named is a key of somebody.
type named struct{ principal, key string }

// place returns the slot that has the record, and the record's name in it.
func (n *named) place() (bucket, name string) {
	sum := sha256.Sum256([]byte(n.principal + "\x00" + n.key))
	return hex.EncodeToString(sum[:1]), hex.EncodeToString(sum[1:])
}

// owner stands for the principal in records, in few bytes.
func (n *named) owner() string {
	sum := sha256.Sum256([]byte(n.principal))
	return hex.EncodeToString(sum[:8])
}

// derive returns 32 bytes that only who has the key can make.
func (n *named) derive(parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(n.key))
	for _, p := range parts {
		mac.Write([]byte(p))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)
}

// digest identifies what was sent. It depends on the key, so that a reader of the store cannot
// check a guess of it.
func (n *named) digest(sent ...string) string { return hex.EncodeToString(n.derive(sent...)) }
