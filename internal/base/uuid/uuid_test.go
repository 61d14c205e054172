package uuid_test

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/base/uuid"
)

func TestTextParses(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var k [16]byte
		for i := range k {
			k[i] = byte(rnd.Uint32())
		}
		k[6], k[8] = 0x70|k[6]&0x0f, 0x80|k[8]&0x3f
		b := uuid.Text(k)
		text := string(b[:])
		if strings.ReplaceAll(text, "-", "") != hex.EncodeToString(k[:]) {
			t.Fatalf("the text of %x is %s", k, text)
		}
		if back, ok := uuid.Parse(text); !ok || back != k {
			t.Fatalf("%s parses as %x, %v; want %x", text, back, ok, k)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "x",
		"0193a1b2-0000-4000-8000-000000000000",  // version 4
		"0193a1b2-0000-7000-0000-000000000000",  // another variant
		"0193A1B2-0000-7000-8000-000000000000",  // upper case
		"0193a1b2-0000-7000-8000-00000000000g",  // no digit
		"0193a1b2-0000-7000-8000-0000000000000", // too long
		"0193a1b20-000-7000-8000-000000000000",  // a hyphen elsewhere
	} {
		if k, ok := uuid.Parse(s); ok {
			t.Errorf("%q parses as %x", s, k)
		}
	}
}
