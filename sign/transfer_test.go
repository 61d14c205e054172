package sign_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/transfer"
)

// TestVerifyAfterImportAndCopy puts a store that holds every kind of record
// into others, thread by thread as files and as a whole: there everything
// verifies with the public key of where it was written, and the derived rows
// are what the log says. A flipped byte is found as before.
func TestVerifyAfterImportAndCopy(t *testing.T) {
	key, ctx := newKey(t), t.Context()
	f := fillStore(t, key)
	imported := must.Get(sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "imported.db"), nil))(t)
	copied := must.Get(sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "copied.db"), nil))(t)
	back := memstore.New()
	l := openLedger(t, imported, nil, f.clock.Now)
	threads := 0
	for info, err := range f.ledger.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		must.Get(transfer.Export(ctx, f.ledger, info.Thread, &file, nil))(t)
		must.Get(transfer.Import(ctx, l, bytes.NewReader(file.Bytes()), nil))(t)
		threads++
	}
	must.Get(transfer.CopyStore(ctx, f.store, copied, nil))(t)
	must.Get(transfer.CopyStore(ctx, copied, back, nil))(t)
	want := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true})
	for name, s := range map[string]posthouse.Store{"imported": imported, "copied": copied, "copied back": back} {
		r := verify(t, s, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true})
		wantClean(t, r)
		if name == "imported" {
			if r.Threads != threads {
				t.Errorf("%d threads were imported, want %d", r.Threads, threads)
			}
			continue
		}
		if r.Threads != want.Threads || r.Entries != want.Entries || r.Covered != want.Covered || r.Bytes != want.Bytes {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
	for _, s := range []*sqlitestore.Store{imported, copied} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
