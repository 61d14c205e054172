package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestEncryptionStatus asks an encrypting server and one that does not encrypt.
func TestEncryptionStatus(t *testing.T) {
	ring, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1")
	must.Do(t, err)
	for _, c := range []posthouse.Cipher{nil, ring} {
		h := open(t, func(o *Options) {
			o.Ledger, err = ledger.Open(memstore.New(), &ledger.Options{Cipher: c})
			must.Do(t, err)
		})
		var p ledger.EncryptionStatus
		must.Do(t, json.Unmarshal(h.get("/api/encryption").want(http.StatusOK).body, &p))
		if p.EncryptsAtRest != (c != nil) || (p.EncryptionKey == "k1") != (c != nil) {
			t.Errorf("%+v", p)
		}
	}
}

// TestSealedIsToldAsSuch reads what was encrypted by a server that has no key.
func TestSealedIsToldAsSuch(t *testing.T) {
	ring, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1")
	must.Do(t, err)
	h := open(t, nil)
	l, err := ledger.Open(h.store, &ledger.Options{Cipher: ring})
	must.Do(t, err)
	c, err := l.Save(t.Context(), posthouse.Root("t", posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`"x"`)}}), nil)
	must.Do(t, err)
	p := h.get("/api/checkpoints/" + string(c.ID)).refused(posthouse.CodeSealed)
	if p.Status != http.StatusServiceUnavailable || !strings.Contains(p.Hint, "POSTHOUSE_KEYS") {
		t.Errorf("%+v", p)
	}
}
