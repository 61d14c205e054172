package sign_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestImportOfUnknownSignatures: a decision that an unknown key signed, or nobody
// did, does not come into a store, or comes in interrupted: nothing runs on it.
func TestImportOfUnknownSignatures(t *testing.T) {
	ctx, ours, theirs := t.Context(), newKey(t), newKey(t)
	for name, signer := range map[string]posthouse.Signer{"ours": ours, "another key": theirs, "nobody": nil} {
		from := openLedger(t, memstore.New(), signer, nil)
		done := must[*posthouse.Committed](t)(from.Commit(ctx, &posthouse.Draft{
			Thread: "t", Gates: []posthouse.Gate{{Name: "pay?"}}, Checkpoint: &posthouse.Change{
				Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "pay", Next: []string{"pay"},
			},
		}))
		must[*posthouse.Gate](t)(from.Decide(ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "ceo"}))
		var file bytes.Buffer
		must[*posthouse.ThreadFile](t)(from.Export(ctx, "t", &file, nil))
		for _, to := range []posthouse.Store{memstore.New(), must[*sqlitestore.Store](t)(sqlitestore.Open(ctx, t.TempDir()+"/x.db", nil))} {
			t.Cleanup(func() { _ = to.Close() }) // closing twice is no error
			l := openLedger(t, to, ours, nil)
			_, err := l.Import(ctx, bytes.NewReader(file.Bytes()), &posthouse.ImportOptions{Check: sign.ImportCheck(ringOf(t, ours))})
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
			must[*posthouse.ThreadFile](t)(l.Import(ctx, bytes.NewReader(file.Bytes()), &posthouse.ImportOptions{Interrupt: true}))
			info := must[*posthouse.ThreadInfo](t)(l.Thread(ctx, "t"))
			if b, _ := info.Branch(posthouse.MainBranch); info.Runnable() || b.Status != posthouse.StatusInterrupted {
				t.Errorf("signed by %s: it would run: %+v", name, b)
			}
			if err := to.Close(); err != nil {
				t.Error(err)
			}
		}
		control := openLedger(t, memstore.New(), ours, nil)
		must[*posthouse.ThreadFile](t)(control.Import(ctx, bytes.NewReader(file.Bytes()), nil))
		if info := must[*posthouse.ThreadInfo](t)(control.Thread(ctx, "t")); !info.Runnable() {
			t.Error("unchecked it would not run either: the test says nothing")
		}
		if _, err := openLedger(t, memstore.New(), ours, nil).Import(ctx, bytes.NewReader(file.Bytes()), &posthouse.ImportOptions{Check: sign.ImportCheck(nil)}); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("signed by %s, no keys: %v", name, err)
		}
	}
}
