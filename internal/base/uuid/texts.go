package uuid

import "strings"

// Texts makes the texts of UUIDs that are met one after another: those met last are shared, and
// memory is allocated for several at once, so that a caller that keeps one of them keeps the memory
// of all. The zero value is ready, for one goroutine at a time.
type Texts struct {
	// Most UUIDs are met twice in a row, as a thing and as the next one's parent.
	keys  [2][16]byte
	texts [2]string
	old   int // which of the two is the older
	room  strings.Builder
}

// textsAtOnce is how many texts are allocated at once.
const textsAtOnce = 16

// Of returns the canonical text of the bytes of a version 7 UUID, as [Text] does.
func (t *Texts) Of(k [16]byte) string {
	for i := range t.keys {
		if t.keys[i] == k { // never the zero key, which is not valid
			return t.texts[i]
		}
	}
	text := Text(k)
	if t.room.Cap()-t.room.Len() < len(text) {
		t.room.Reset()
		t.room.Grow(textsAtOnce * len(text))
	}
	t.room.Write(text[:])
	all := t.room.String()
	s := all[len(all)-len(text):]
	t.keys[t.old], t.texts[t.old] = k, s
	t.old = 1 - t.old
	return s
}
