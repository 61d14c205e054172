package posthouse

import "github.com/posthouse/posthouse/internal/canon"

const domainSignature = "posthouse/signature/1"

// A Signer signs entries. Package sign has one with an Ed25519 key in a file.
type Signer interface {
	// KeyID names the key, by its algorithm first: "ed25519:" and 16 hex digits.
	KeyID() string
	// Sign returns the signature over message, which is a [SignatureMessage].
	Sign(message []byte) ([]byte, error)
}

// A Verifier knows whose signatures count. In package sign a key is one, for its
// own, and a ring.
type Verifier interface {
	// ImportCheck returns a check for one import, as [ImportOptions] have it.
	ImportCheck() func(*Entry) error
}

// SignatureMessage returns what is signed for an entry with this hash: the
// domain and the hash, length-prefixed, so that a signature made for anything
// else cannot stand for an entry's.
func SignatureMessage(h Hash) []byte {
	return canon.AppendBytes(canon.AppendString(nil, domainSignature), h[:])
}

// JoinSignature returns an [Entry]'s Sig: the key id, length-prefixed, then the
// signature.
func JoinSignature(keyID string, signature []byte) []byte {
	return append(canon.AppendString(nil, keyID), signature...)
}

// SplitSignature reads what JoinSignature wrote. [ErrCorrupt] unless the key id
// is 1 to 200 bytes and a signature follows. The signature aliases sig.
func SplitSignature(sig []byte) (keyID string, signature []byte, err error) {
	r := canon.NewReader(sig)
	keyID = r.String()
	if r.Err() != nil || keyID == "" || len(keyID) > MaxID || r.Len() == 0 {
		return "", nil, corrupt("a signature of %d bytes does not decode", len(sig))
	}
	return keyID, r.Raw(r.Len()), nil
}
