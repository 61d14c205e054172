package tokens

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// approvalLength is that of an approval token's secret: 256 bits in hexadecimal.
const approvalLength = 64

// NewApproval returns the secret of a new approval token: 64 hexadecimal digits of 256
// random bits. Such a token is in no [List]: it decides one gate, and opens nothing.
func NewApproval() string {
	var b [approvalLength / 2]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// IsApproval reports whether a secret has the form of an approval token's. An access
// token never has.
func IsApproval(secret string) bool {
	return len(secret) == approvalLength && strings.Trim(secret, "0123456789abcdef") == ""
}
