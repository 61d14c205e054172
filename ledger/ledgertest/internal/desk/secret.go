package desk

import (
	"bytes"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
)

// Ring returns test keys. The first one is current.
func (t *T) Ring(ids ...string) *crypt.Keyring {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		k := make([]byte, 32)
		copy(k, "test key "+id)
		keys[id] = k
	}
	r, err := crypt.NewKeyring(keys, ids[0])
	t.OK(err)
	return r
}

// Secret is part of all content of a sealed thread in the cases.
const Secret = "sesame-4711"

// InClear names the places of a thread where the secret can be read.
func (t *T) InClear(thread string) (found []string) {
	t.Helper()
	for e, err := range t.Store.Read(t.Ctx, thread, posthouse.Range{}) {
		t.OK(err)
		for i, b := range append(e.Bodies, e.Header) {
			if bytes.Contains(b, []byte(Secret)) {
				found = append(found, fmt.Sprintf("entry %d, %d", e.Seq, i))
			}
		}
	}
	for info, err := range t.Store.Threads(t.Ctx, posthouse.ThreadQuery{Thread: thread}) {
		t.OK(err)
		data, err := info.MarshalBinary()
		t.OK(err)
		if bytes.Contains(data, []byte(Secret)) {
			found = append(found, "the summary")
		}
	}
	return found
}
