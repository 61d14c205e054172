package sign_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
)

// told wants an error of ours, with one of the codes.
func told(t *testing.T, err error, codes ...*posthouse.Error) {
	t.Helper()
	for _, c := range codes {
		if errors.Is(err, c) {
			return
		}
	}
	t.Fatalf("an error that is none of these %v: %v", codes, err)
}

func FuzzParseKey(f *testing.F) {
	path := f.TempDir() + "/key"
	must.Get(sign.LoadOrCreate(path))(f)
	f.Add(readBytes(f, path))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := sign.ParseKey(data)
		if err != nil {
			told(t, err, posthouse.ErrInvalid)
			return
		}
		sig := must.Get(key.Sign([]byte("m")))(t)
		if len(sig) != 64 || sign.KeyID(key.Public().Key) != key.KeyID() {
			t.Fatal("a key that does not sign")
		}
	})
}

func readBytes(t testing.TB, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

func FuzzParseRing(f *testing.F) {
	a, b := goldenKey(f), newKey(f)
	pub := b.Public()
	pub.NotBefore, pub.NotAfter = newClock().now, newClock().now.AddDate(1, 0, 0)
	ring := must.Get(sign.NewRing(a.Public(), pub))(f)
	f.Add(must.Get(ring.MarshalText())(f))
	f.Add(must.Get(ringOf(f, a).MarshalText())(f))
	f.Add([]byte("# nothing\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nNot-After: x\n\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ring, err := sign.ParseRing(data)
		if err != nil {
			told(t, err, posthouse.ErrInvalid)
			return
		}
		if len(ring.Keys()) == 0 {
			t.Fatal("an empty ring")
		}
		again := must.Get(sign.ParseRing(must.Get(ring.MarshalText())(t)))(t)
		if !slices.EqualFunc(ring.Keys(), again.Keys(), func(a, b sign.Public) bool {
			return a.ID == b.ID && a.Key.Equal(b.Key) && a.NotBefore.Equal(b.NotBefore) && a.NotAfter.Equal(b.NotAfter)
		}) {
			t.Fatalf("ring %v reads back as %v", ring.Keys(), again.Keys())
		}
	})
}

// freshKey returns a key of its own for the present content of smallStore. The
// fuzzing engine keeps inputs from run to run, also some that were signed before
// smallStore changed: this key must not vouch for those.
func freshKey(f *testing.F) *sign.Key {
	var seed posthouse.Hash
	for _, e := range readAll(smallStore(f, goldenKey(f)), "t") {
		seed = e.Hash
	}
	return keyOf(f, seed[:])
}

// FuzzParseHead parses what is in an envelope that is signed, and, as it is,
// what is not.
func FuzzParseHead(f *testing.F) {
	key := freshKey(f)
	ring := ringOf(f, key)
	store := smallStore(f, key)
	head := must.Get(statement.Witness(f.Context(), store, key, &statement.WitnessOptions{Now: newClock().Now}))(f).Envelope
	f.Add(head)
	f.Add(payloadOf(f, head))
	f.Add([]byte(`{"format":1,"at":"2026-01-02T03:04:05Z","threads":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := statement.ParseHead(data, ring); err == nil {
			verifyHead(t, h, payloadOf(t, head))
		} else {
			told(t, err, posthouse.ErrInvalid, posthouse.ErrCorrupt, posthouse.ErrForbidden, posthouse.ErrNewer)
		}
		h, err := statement.ParseHead(sealBytes(t, key, "application/vnd.posthouse.head+json", data), ring)
		if err != nil {
			told(t, err, posthouse.ErrInvalid, posthouse.ErrForbidden, posthouse.ErrNewer)
			return
		}
		for i, th := range h.Threads {
			if th.Seq == 0 || i > 0 && th.Thread <= h.Threads[i-1].Thread {
				t.Fatalf("threads %v", h.Threads)
			}
		}
		must.Get(sign.Verify(t.Context(), store, ring, &sign.VerifyOptions{Witness: h, Thread: "t"}))(t)
	})
}

// verifyHead wants what was parsed to be what was signed.
func verifyHead(t *testing.T, h *sign.Head, payload []byte) {
	t.Helper()
	if got := must.Get(json.Marshal(h))(t); !bytes.Equal(got, payload) {
		t.Fatalf("nobody signed %s", got)
	}
}

func payloadOf(t testing.TB, envelope []byte) []byte {
	t.Helper()
	var env struct{ Payload []byte }
	if err := json.Unmarshal(envelope, &env); err != nil {
		t.Fatal(err)
	}
	return env.Payload
}

func sealBytes(t testing.TB, key *sign.Key, payloadType string, payload []byte) []byte {
	t.Helper()
	pae := label("DSSEv1", len(payloadType), payloadType, len(payload), "")
	sig := must.Get(key.Sign(append([]byte(pae), payload...)))(t)
	return must.Get(json.Marshal(map[string]any{
		"payloadType": payloadType, "payload": base64.StdEncoding.EncodeToString(payload),
		"signatures": []any{map[string]any{"keyid": key.KeyID(), "sig": base64.StdEncoding.EncodeToString(sig)}},
	}))(t)
}

// FuzzOpenExport opens envelopes, and signs payloads that the fuzzer made: an
// envelope that opens without an error is a chain, and an unsigned one does not
// open.
func FuzzOpenExport(f *testing.F) {
	key := freshKey(f)
	ring := ringOf(f, key)
	store := smallStore(f, key)
	known := map[posthouse.Hash]bool{}
	for _, states := range []bool{false, true} {
		data := export(f, &fill{store: store, clock: newClock()}, "t", key, &statement.ExportOptions{States: states})
		f.Add(data)
		f.Add(payloadOf(f, data))
	}
	for _, e := range readAll(store, "t") {
		known[e.Hash] = true
	}
	f.Add([]byte(`{"format":1,"thread":"t","entries":[null]}`))
	f.Add([]byte(`{"format":1,"thread":"t","entries":[{"seq":1,"generation":1,"header":"AQAA","bodies":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		trail, err := statement.OpenExport(bytes.NewReader(data), ring)
		if err == nil {
			for _, e := range trail.Entries {
				if !known[e.Hash] {
					t.Fatalf("nobody signed entry %d of %q", e.Seq, trail.Thread)
				}
			}
		}
		trail, err = statement.OpenExport(bytes.NewReader(sealBytes(t, key, "application/vnd.posthouse.thread+json", data)), ring)
		if err != nil {
			told(t, err, posthouse.ErrInvalid, posthouse.ErrForbidden, posthouse.ErrNewer, posthouse.ErrCorrupt)
			return
		}
		var prev posthouse.Hash
		for i, e := range trail.Entries {
			if e.Check() != nil || i > 0 && e.Prev != prev {
				t.Fatalf("entry %d of %q does not hold", e.Seq, trail.Thread)
			}
			prev = e.Link()
		}
	})
}

// FuzzVerify verifies a store that holds one entry of the fuzzer's making.
func FuzzVerify(f *testing.F) {
	for _, e := range readAll(smallStore(f, goldenKey(f)), "t") {
		f.Add(e.Header, e.Sig, bytes.Join(e.Bodies, nil))
	}
	f.Fuzz(func(t *testing.T, header, sig, body []byte) {
		e := &posthouse.Entry{Thread: "t", Generation: 1, Seq: 1, Header: header, Sig: sig, Bodies: [][]byte{body}}
		e.Hash = e.Sum()
		store, info := memstore.New(), &posthouse.ThreadInfo{Thread: "t"}
		if info.Apply(e) != nil {
			*info = posthouse.ThreadInfo{Thread: "t", Generation: 1, Tail: posthouse.Position{Seq: 1, Hash: e.Hash}, Link: e.Link()}
		}
		if err := store.Append(t.Context(), &posthouse.Batch{Entry: e, Thread: info}); err != nil {
			t.Fatal(err)
		}
		r := must.Get(sign.Verify(t.Context(), store, nil, nil))(t)
		if r.Entries != 1 || r.Covered != 0 {
			t.Fatalf("report %+v", r)
		}
		if _, err := e.Records(); err != nil && r.OK() {
			t.Fatal("an entry that does not decode is called good")
		}
		must.Get(json.Marshal(r))(t)
	})
}
