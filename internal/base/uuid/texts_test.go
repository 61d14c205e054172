package uuid_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/base/uuid"
)

func TestTextsAreThoseOfText(t *testing.T) {
	var texts uuid.Texts
	var k [16]byte
	k[6], k[8] = 0x70, 0x80
	parent := k
	for n := range 100 {
		k[15] = byte(n)
		for _, id := range [][16]byte{k, parent, k} {
			if want := uuid.Text(id); texts.Of(id) != string(want[:]) {
				t.Fatalf("the text of %x is %s, want %s", id, texts.Of(id), want[:])
			}
		}
		parent = k
	}
	if n := testing.AllocsPerRun(160, func() { k[14]++; texts.Of(k) }); n > 0 {
		t.Errorf("%v allocations for a text, want less than 1", n)
	}
}
