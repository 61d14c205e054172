package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

var _ posthouse.Signer = (*sign.Key)(nil)

func newKey(t testing.TB) *sign.Key {
	t.Helper()
	k, err := sign.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func ringOf(t testing.TB, keys ...*sign.Key) *sign.Ring {
	t.Helper()
	var ps []sign.Public
	for _, k := range keys {
		ps = append(ps, k.Public())
	}
	r, err := sign.NewRing(ps...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeyID(t *testing.T) {
	k := newKey(t)
	spki, err := x509.MarshalPKIXPublicKey(k.Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spki)
	if want := "ed25519:" + hex.EncodeToString(sum[:])[:16]; k.KeyID() != want {
		t.Errorf("key id %s, want %s", k.KeyID(), want)
	}
	sig, err := k.Sign([]byte("message"))
	if err != nil || !ed25519.Verify(k.Public().Key, []byte("message"), sig) {
		t.Errorf("the signature does not verify: %v", err)
	}
	if newKey(t).KeyID() == k.KeyID() {
		t.Error("two keys with one id")
	}
}

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.key")
	k, err := sign.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want 0600", st.Mode(), err)
	}
	again, err := sign.LoadOrCreate(path)
	if err != nil || again.KeyID() != k.KeyID() {
		t.Errorf("loaded another key: %v", err)
	}
	ring, err := sign.LoadRing(path + sign.PublicSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := ring.Key(k.KeyID()); !ok || !p.Key.Equal(k.Public().Key) || len(ring.Keys()) != 1 {
		t.Errorf("the ring holds %v", ring.Keys())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp")); left != nil {
		t.Errorf("temporary files were left: %v", left)
	}

	// The ring is written again if it is lost.
	if err := os.Remove(path + sign.PublicSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.LoadRing(path + sign.PublicSuffix); err != nil {
		t.Error(err)
	}
}

func TestLoadOrCreateAtOnceMakesOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.key")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			k, err := sign.LoadOrCreate(path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.KeyID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("several keys: %v", ids)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "signing.key")
	if _, err := sign.LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o660, 0o610} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := sign.LoadOrCreate(path)
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}

	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaDER, _ := x509.MarshalPKCS8PrivateKey(rsaKey)
	for name, data := range map[string][]byte{
		"empty":     {},
		"cut":       good[:len(good)/2],
		"text":      []byte("hello"),
		"two":       append(bytes.Clone(good), good...),
		"rsa":       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rsaDER}),
		"public":    pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}}),
		"damaged":   bytes.Replace(good, []byte("MC4C"), []byte("MC4D"), 1),
		"encrypted": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte{1}}),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sign.LoadOrCreate(path); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := sign.Load(filepath.Join(dir, "none")); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	if _, err := sign.Load(dir); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := sign.LoadOrCreate(filepath.Join(dir, "none", "key")); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("no directory: %v", err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, 1<<17), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.Load(big); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("128 KiB: %v", err)
	}
}

func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.key")
	first, err := sign.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	o := &sign.RotateOptions{Now: func() time.Time { return at }, Overlap: time.Hour}
	second, err := sign.Rotate(path, o)
	if err != nil {
		t.Fatal(err)
	}
	if k, err := sign.LoadOrCreate(path); err != nil || k.KeyID() != second.KeyID() || k.KeyID() == first.KeyID() {
		t.Errorf("the file does not hold the new key: %v", err)
	}
	ring, err := sign.LoadRing(path + sign.PublicSuffix)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := ring.Key(first.KeyID())
	next, _ := ring.Key(second.KeyID())
	for _, c := range []struct {
		name string
		at   time.Time
		old  bool
		next bool
	}{
		{"long before", at.Add(-48 * time.Hour), true, false},
		{"now", at, true, true},
		{"in the overlap", at.Add(time.Hour), true, true},
		{"after it", at.Add(2 * time.Hour), false, true},
	} {
		if old.InUse(c.at) != c.old || next.InUse(c.at) != c.next {
			t.Errorf("%s: old %v, next %v; want %v and %v", c.name, old.InUse(c.at), next.InUse(c.at), c.old, c.next)
		}
	}
	at = at.Add(24 * time.Hour)
	if _, err := sign.Rotate(path, o); err != nil {
		t.Fatal(err)
	}
	ring, err = sign.LoadRing(path + sign.PublicSuffix)
	if err != nil || len(ring.Keys()) != 3 {
		t.Fatalf("ring of %d keys, error %v; want 3", len(ring.Keys()), err)
	}
	if again, _ := ring.Key(first.KeyID()); !again.NotAfter.Equal(old.NotAfter) {
		t.Errorf("the first key's end moved from %v to %v", old.NotAfter, again.NotAfter)
	}
	if _, err := sign.Rotate(path, &sign.RotateOptions{Overlap: -1}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("negative overlap: %v", err)
	}
	if _, err := sign.Rotate(path+".none", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("no key: %v", err)
	}
}

func TestRing(t *testing.T) {
	a, b := newKey(t), newKey(t)
	pub := b.Public()
	pub.NotBefore, pub.NotAfter = time.Unix(1e9, 0).UTC(), time.Unix(2e9, 0).UTC()
	ring, err := sign.NewRing(a.Public(), pub)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ring.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	back, err := sign.ParseRing(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(back.Keys()), fmt.Sprint(ring.Keys()); got != want {
		t.Errorf("read back %s\nwant %s", got, want)
	}
	if _, ok := (*sign.Ring)(nil).Key(a.KeyID()); ok {
		t.Error("a nil ring knows a key")
	}

	wrong := a.Public()
	wrong.ID = b.KeyID()
	for name, keys := range map[string][]sign.Public{
		"twice": {a.Public(), a.Public()}, "wrong id": {wrong}, "short": {{ID: a.KeyID(), Key: a.Public().Key[:31]}},
	} {
		if _, err := sign.NewRing(keys...); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	block := func(headers map[string]string) string {
		der, _ := x509.MarshalPKIXPublicKey(a.Public().Key)
		return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Headers: headers, Bytes: der}))
	}
	for name, text := range map[string]string{
		"empty":          "",
		"comment":        "# nothing here\n",
		"text between":   block(nil) + "hello\n" + string(text),
		"damaged":        strings.Replace(string(text), "MCow", "M!ow", 1),
		"cut":            string(text[:len(text)-20]),
		"private":        string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}})),
		"not a key":      string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}})),
		"unknown header": block(map[string]string{"Revoked": "2026-01-02T15:04:05Z"}),
		"bad time":       block(map[string]string{"Not-After": "tomorrow"}),
		"too large":      strings.Repeat("#\n", 1<<20),
	} {
		if _, err := sign.ParseRing([]byte(text)); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, err := sign.ParseRing([]byte("# mine\r\n\n" + block(nil))); err != nil || len(r.Keys()) != 1 {
		t.Errorf("a plain public key: %v", err)
	}
}

// TestDamagedRingStopsARotation wants the private key to stay while the ring
// that must keep its public half cannot be read.
func TestDamagedRingStopsARotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.key")
	key, err := sign.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	pub := path + sign.PublicSuffix
	good, err := os.ReadFile(pub)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"cut":         func() error { return os.WriteFile(pub, good[:len(good)-9], 0o644) },
		"a directory": func() error { return errors.Join(os.Remove(pub), os.Mkdir(pub, 0o755)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := sign.Rotate(path, nil); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), pub) {
			t.Errorf("%s: rotated: %v", name, err)
		}
		if _, err := sign.LoadOrCreate(path); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), pub) {
			t.Errorf("%s: loaded: %v", name, err)
		}
		if k, err := sign.Load(path); err != nil || k.KeyID() != key.KeyID() {
			t.Errorf("%s: the private key changed: %v", name, err)
		}
		if err := errors.Join(os.RemoveAll(pub), os.WriteFile(pub, good, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// A lost ring is made again, with the old key, before it is needed.
	if err := os.Remove(pub); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.Rotate(path, nil); err != nil {
		t.Fatal(err)
	}
	ring, err := sign.LoadRing(pub)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := ring.Key(key.KeyID()); !ok || len(ring.Keys()) != 2 {
		t.Errorf("ring %v does not hold the old key", ring.Keys())
	}
}
