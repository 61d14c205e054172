package canon

// Strings remembers the strings that Readers met last, so that inputs which
// repeat them share them. The zero value is ready. It holds a few kilobytes at
// most, and is used by one goroutine at a time.
type Strings struct {
	last [64]string
}

// longest is the length up to which a string is remembered: what is longer is
// seldom repeated.
const longest = 64

// get returns the string p, which must not be empty.
func (s *Strings) get(p []byte) string {
	if len(p) > longest {
		return string(p)
	}
	at := &s.last[(7*len(p)+3*int(p[0])+int(p[len(p)-1]))%len(s.last)]
	if *at != string(p) {
		*at = string(p)
	}
	return *at
}
