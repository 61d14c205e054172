package ledger_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// TestDryRunsOfCopies: a dry run counts what a copy then copies, refuses what it refuses, and writes nothing.
func TestDryRunsOfCopies(t *testing.T) {
	ctx := context.Background()
	_, l, from := exported(t)
	must.Get(l.Save(ctx, posthouse.Root("u", opaque(t, 1)), nil))(t)
	must.Get(from.Slot(ctx, posthouse.SlotKey{Thread: "$sessions", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x")}))(t)
	to := memstore.New()
	dry := &transfer.CopyStoreOptions{DryRun: true}
	would := must.Get(transfer.CopyStore(ctx, from, to, dry))(t)
	wantEmpty(t, to, "after a dry run")
	done := must.Get(transfer.CopyStore(ctx, from, to, nil))(t)
	if done.DryRun || !would.DryRun || would.Verified != 0 {
		t.Errorf("a dry run says %+v, and a copy %+v", would, done)
	}
	want := *done
	want.DryRun, want.Verified = true, 0
	if *would != want {
		t.Errorf("a dry run counts %+v, and the copy %+v", would, done)
	}
	if again := must.Get(transfer.CopyStore(ctx, from, to, dry))(t); again.Entries != 0 || again.Skipped != done.Entries {
		t.Errorf("after the copy, a dry run counts %+v", again)
	}

	other := memstore.New()
	taken := must.Get(ledger.Open(other, nil))(t)
	must.Get(taken.Save(ctx, posthouse.Root("t", opaque(t, "another")), nil))(t)
	_, err := transfer.CopyStore(ctx, from, other, dry)
	must.Fail(t, err, posthouse.ErrConflict)
	bad := &tampered{from, func(e *posthouse.Entry) {
		for _, b := range e.Bodies {
			if len(b) > 0 {
				b[0] ^= 1
			}
		}
	}}
	_, err = transfer.CopyStore(ctx, bad, memstore.New(), dry)
	must.Fail(t, err, posthouse.ErrCorrupt)
}

// TestDryRunsOfImports: a dry run refuses what an import refuses, and writes nothing.
func TestDryRunsOfImports(t *testing.T) {
	ctx := context.Background()
	file, l, from := exported(t)
	to := memstore.New()
	target := must.Get(ledger.Open(to, nil))(t)
	dry := &transfer.ImportOptions{DryRun: true}
	would := must.Get(transfer.Import(ctx, target, bytes.NewReader(file), dry))(t)
	wantEmpty(t, to, "after a dry run")
	_, err := transfer.Import(ctx, l, bytes.NewReader(file), dry)
	must.Fail(t, err, posthouse.ErrExists)
	_, err = transfer.Import(ctx, target, bytes.NewReader(file[:len(file)-1]), dry)
	must.Fail(t, err, posthouse.ErrCorrupt)
	if done := must.Get(transfer.Import(ctx, target, bytes.NewReader(file), nil))(t); !reflect.DeepEqual(done, would) {
		t.Errorf("a dry run says %+v, and the import %+v", would, done)
	}
	_, err = transfer.Import(ctx, target, bytes.NewReader(file), dry)
	must.Fail(t, err, posthouse.ErrExists)
	wantChecked(t, from)
}

// TestDryRunsOfAnEncryptedTarget: what is in the clear is refused by a dry run, too.
func TestDryRunsOfAnEncryptedTarget(t *testing.T) {
	ctx := context.Background()
	file, _, from := exported(t)
	to := memstore.New()
	sealed := must.Get(ledger.Open(to, &ledger.Options{Cipher: keyring(t, "k1")}))(t)
	must.Get(sealed.Save(ctx, posthouse.Root("secret", opaque(t, 1)), nil))(t)
	_, err := transfer.Import(ctx, sealed, bytes.NewReader(file), &transfer.ImportOptions{DryRun: true})
	must.Fail(t, err, posthouse.ErrSealed)
	_, err = transfer.CopyStore(ctx, from, to, &transfer.CopyStoreOptions{DryRun: true})
	must.Fail(t, err, posthouse.ErrSealed)
}
