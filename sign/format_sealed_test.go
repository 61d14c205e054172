package sign_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// gcm opens a nonce of 12 bytes and what follows it.
func gcm(key, sealed, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	plain, err := aead.Open(nil, sealed[:12], sealed[12:], data)
	if err != nil {
		panic(err)
	}
	return plain
}

func text(b []byte, s string) []byte { return append(append(b, uvarint(uint64(len(s)))...), s...) }

// unseal follows section 9, with nothing of Posthouse: it puts what was sealed
// in the place of the bodies, and returns how many there were.
func (a *audit) unseal(slots map[string][]byte, keys map[string][]byte) (opened int) {
	for i := range a.g.Entries {
		e := &a.g.Entries[i]
		for j, r := range a.records[i] {
			if !r.sealed || len(e.Bodies[j]) == 0 {
				continue
			}
			var w struct {
				Format  int
				Key     string
				Wrapped []byte
			}
			if err := json.Unmarshal(slots[fmt.Sprint("$key-", e.Generation)], &w); err != nil || w.Format != 1 {
				panic(fmt.Sprint("a data key: ", err))
			}
			binding := append(text(text(nil, "posthouse/data-key/1"), a.g.Thread), uvarint(uint64(e.Generation))...)
			dataKey := gcm(keys[w.Key], w.Wrapped, text(binding, w.Key))
			place := append(text(text(nil, "posthouse/sealed/1"), a.g.Thread), uvarint(uint64(e.Generation))...)
			place = append(append(place, uvarint(e.Seq)...), uvarint(uint64(j))...)
			pack := gcm(dataKey, e.Bodies[j][1:], append(place, r.kind, 1))
			size, n := binary.Uvarint(pack[2:])
			body := pack[2+n:]
			if pack[0] == 1 {
				d, err := zstd.NewReader(nil)
				if err != nil {
					panic(err)
				}
				body, err = d.DecodeAll(body, nil)
				if err != nil {
					panic(err)
				}
				d.Close()
			}
			if e.Bodies[j][0] != 1 || pack[0] > 1 || pack[1] != 1 || uint64(len(body)) != size {
				panic("a pack that is none")
			}
			e.Bodies[j] = body
			opened++
		}
	}
	return opened
}

// TestSealedFormatIsEnough writes the golden thread with a cipher. It verifies
// without any key, by our verifier and by the one that was made from the
// document; that one then opens and rebuilds it with the key.
func TestSealedFormatIsEnough(t *testing.T) {
	wrapping := bytes.Repeat([]byte("w"), 32)
	ring := must.Get(crypt.NewKeyring(map[string][]byte{"w1": wrapping}, "w1"))(t)
	key, store := goldenKey(t), memstore.New()
	l := must.Get(ledger.Open(store, &ledger.Options{Signer: key, Now: newClock().Now, Cipher: ring}))(t)
	goldenThread(t, l)
	wantClean(t, verify(t, store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true}))

	g := goldenOf(t, l, store, key)
	a, err := newAudit(g)
	if err != nil {
		t.Fatal(err)
	}
	slots := map[string][]byte{}
	for s, err := range store.Slots(t.Context(), g.Thread) {
		if err != nil {
			t.Fatal(err)
		}
		slots[s.Key.Step] = s.Value
	}
	if n := a.unseal(slots, map[string][]byte{"w1": wrapping}); n < 60 {
		t.Errorf("only %d bodies were sealed", n)
	}
	a.wantStates(t)
}
