package sign_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/transfer"
)

// TestImportOfUnknownSignatures: a decision signed by an unknown key, or
// unsigned, does not come into a store, or comes in interrupted: nothing runs on
// it.
func TestImportOfUnknownSignatures(t *testing.T) {
	ctx, ours, theirs := t.Context(), newKey(t), newKey(t)
	for name, signer := range map[string]posthouse.Signer{"ours": ours, "another key": theirs, "nobody": nil} {
		from := openLedger(t, memstore.New(), signer, nil)
		decided(t, from)
		var file bytes.Buffer
		must.Get(transfer.Export(ctx, from, "t", &file, nil))(t)
		for _, to := range []posthouse.Store{memstore.New(), must.Get(sqlitestore.Open(ctx, t.TempDir()+"/x.db", nil))(t)} {
			t.Cleanup(func() { _ = to.Close() }) // closing twice is no error
			l := openLedger(t, to, ours, nil)
			_, err := transfer.Import(ctx, l, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Check: ringOf(t, ours).ImportCheck()})
			if signer == posthouse.Signer(ours) {
				if err != nil {
					t.Errorf("signed by %s: %v", name, err)
				}
				continue
			}
			if !errors.Is(err, posthouse.ErrForbidden) {
				t.Errorf("signed by %s: %v", name, err)
			}
			if _, err := l.Thread(ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
				t.Errorf("signed by %s: it is there: %v", name, err)
			}
			must.Get(transfer.Import(ctx, l, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Unverified: true}))(t)
			info := must.Get(l.Thread(ctx, "t"))(t)
			if b, _ := info.Branch(posthouse.MainBranch); info.Runnable() || b.Status != posthouse.StatusInterrupted {
				t.Errorf("signed by %s: it would run: %+v", name, b)
			}
			if err := to.Close(); err != nil {
				t.Error(err)
			}
		}
		control := openLedger(t, memstore.New(), nil, nil)
		must.Get(transfer.Import(ctx, control, bytes.NewReader(file.Bytes()), nil))(t)
		if info := must.Get(control.Thread(ctx, "t"))(t); !info.Runnable() {
			t.Error("unchecked it would not run either: the test says nothing")
		}
		if _, err := transfer.Import(ctx, openLedger(t, memstore.New(), ours, nil), bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Check: (*sign.Ring)(nil).ImportCheck()}); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("signed by %s, no keys: %v", name, err)
		}
	}
}

// TestImportChecksByDefault: a Ledger with a key checks what it imports against
// that key, or against the ring it is given, unless it is told to take the thread
// unverified: then nothing of it runs.
func TestImportChecksByDefault(t *testing.T) {
	ctx, ours, theirs := t.Context(), newKey(t), newKey(t)
	file := func(signer posthouse.Signer) *bytes.Reader {
		from := openLedger(t, memstore.New(), signer, nil)
		decided(t, from)
		var file bytes.Buffer
		must.Get(transfer.Export(ctx, from, "t", &file, nil))(t)
		return bytes.NewReader(file.Bytes())
	}
	for name, c := range map[string]struct {
		opt     ledger.Options
		signer  posthouse.Signer
		refused bool
	}{
		"our own":                       {ledger.Options{Signer: ours}, ours, false},
		"another key's":                 {ledger.Options{Signer: ours}, theirs, true},
		"nobody's":                      {ledger.Options{Signer: ours}, nil, true},
		"of the ring":                   {ledger.Options{Signer: ours, Verifier: ringOf(t, ours, theirs)}, theirs, false},
		"not of the ring":               {ledger.Options{Verifier: ringOf(t, theirs)}, ours, true},
		"another key's, we having none": {ledger.Options{}, theirs, false},
	} {
		l := must.Get(ledger.Open(memstore.New(), &c.opt))(t)
		_, err := transfer.Import(ctx, l, file(c.signer), nil)
		if c.refused != errors.Is(err, posthouse.ErrForbidden) || !c.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.refused {
			continue
		}
		if _, err := l.Thread(ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("%s: it is there: %v", name, err)
		}
		must.Get(transfer.Import(ctx, l, file(c.signer), &transfer.ImportOptions{Unverified: true}))(t)
		if info := must.Get(l.Thread(ctx, "t"))(t); info.Runnable() {
			t.Errorf("%s: unverified, and it would run", name)
		}
	}
}

// decided makes a thread that waits no more and would run.
func decided(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	done := must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Gates: []posthouse.Gate{{Name: "pay?"}}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "pay", Next: []string{"pay"},
		},
	}))(t)
	must.Get(l.Decide(t.Context(), done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "ceo"}))(t)
}

// TestImportOfUnsignedWork: unsigned work that would run at once is not taken,
// not even at the end of a thread that is signed up to there.
func TestImportOfUnsignedWork(t *testing.T) {
	ctx, ours := t.Context(), newKey(t)
	for _, signed := range []bool{false, true} {
		store := memstore.New()
		if signed {
			decided(t, openLedger(t, store, ours, nil))
		}
		forger := openLedger(t, store, nil, nil)
		must.Get(forger.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: posthouse.StatusReady, Next: []string{"pay"},
		}}))(t)
		var file bytes.Buffer
		must.Get(transfer.Export(ctx, forger, "t", &file, nil))(t)
		l := openLedger(t, memstore.New(), ours, nil)
		if _, err := transfer.Import(ctx, l, bytes.NewReader(file.Bytes()), nil); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("behind signed entries %t: %v", signed, err)
		}
	}
}
