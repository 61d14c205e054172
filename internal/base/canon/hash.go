package canon

import "crypto/sha256"

// Hash returns SHA-256 over the domain and the parts, each length-prefixed, so
// that no two different lists of parts share an input and no hash made for one
// purpose can stand for another.
func Hash(domain string, parts ...[]byte) [32]byte {
	n := 10 + len(domain)
	for _, p := range parts {
		n += 10 + len(p)
	}
	var stack [512]byte
	buf := stack[:0]
	if n > len(stack) {
		buf = make([]byte, 0, n)
	}
	buf = AppendString(buf, domain)
	for _, p := range parts {
		buf = AppendBytes(buf, p)
	}
	return sha256.Sum256(buf)
}
