package sign_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// returnedPath has a thread with signals that waits returned, which format 6 added. It is kept for ever.
const returnedPath = "testdata/returned.json"

func readReturned(t testing.TB) *goldenFile {
	t.Helper()
	g := &goldenFile{}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(returnedPath))(t), g))
	return g
}

// TestReturnedIsWritten writes the golden file, when asked and if there is no such file.
func TestReturnedIsWritten(t *testing.T) {
	if _, err := os.Stat(returnedPath); err == nil || !*update {
		return
	}
	key, store, c := goldenKey(t), memstore.New(), newClock()
	l := openLedger(t, store, key, c.Now)
	returnedThread(t, l)
	data := must.Get(json.MarshalIndent(goldenOf(t, l, store, key), "", "\t"))(t)
	must.Do(t, os.WriteFile(returnedPath, append(data, '\n'), 0o644))
}

// returnedThread waits for two signals, is given another input when one came, and takes it then. A
// fork begins before that.
func returnedThread(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	const thread = "order-7"
	commit := func(kind string, status posthouse.Status, waits ...string) *posthouse.Committed {
		t.Helper()
		d := &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: kind, Status: status, Next: []string{"pay"}, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}}}
		for _, name := range waits {
			d.Gates = append(d.Gates, posthouse.Gate{Name: "signal:" + name, Task: "1/pay", Kind: posthouse.GateSignal, Signal: name})
		}
		return must.Get(l.Commit(ctx, d))(t)
	}
	commit(posthouse.KindInput, posthouse.StatusRunning)
	commit(posthouse.KindWait, posthouse.StatusWaiting, "paid", "sent")
	must.Get(l.Signal(ctx, thread, posthouse.Signal{Name: "paid", Value: json.RawMessage("1"), By: "bank"}))(t)
	next := commit(posthouse.KindInput, posthouse.StatusRunning)
	must.Get(l.Fork(ctx, next.Checkpoint.ID, nil))(t)
	commit(posthouse.KindWait, posthouse.StatusWaiting, "paid")
}

// TestReturnedSignalsAreEnough has this version, and the verifier that was made from the document, read
// what format 6 added.
func TestReturnedSignalsAreEnough(t *testing.T) {
	g := readReturned(t)
	if formatsOf(g)[6] != 2 {
		t.Errorf("the input and the fork have format 6: %v", formatsOf(g))
	}
	a, err := newAudit(g)
	if err != nil {
		t.Fatal(err)
	}
	a.wantStates(t)
	wantClean(t, verify(t, goldenStore(t, g), ringOf(t, goldenKey(t)), &sign.VerifyOptions{RequireSigned: true}))
	findsDamage(t, readReturned)
}
