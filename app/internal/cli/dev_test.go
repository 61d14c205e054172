package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// TestDevSaysWhatItKept: the data stays, questions wait from before, and a store that is
// damaged does not start without a word.
func TestDevSaysWhatItKept(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir()}
	told := func(do func(*host.Host)) string {
		t.Helper()
		var out bytes.Buffer
		if err := e.serve(serveFlags{}, func(h *host.Host) {
			e.app(&out).tellKept(t.Context(), h, datadir.Dir(e.dir))
			if do != nil {
				do(h)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	wants(t, "a first start", told(func(h *host.Host) {
		state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`"order"`)}}
		_, err := h.Ledger.Commit(t.Context(), &ledger.Draft{
			Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: state},
			Gates: []posthouse.Gate{{Name: "pay", Text: "Pay Bob?", Payload: json.RawMessage(`{"amount":1}`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}), "the data stays", "delete "+e.dir)
	wants(t, "a second start", told(nil), "1 question waiting from before: posthouse inbox")
	changed := 0
	for _, name := range []string{"posthouse.db", "posthouse.db-wal"} {
		path := filepath.Join(e.dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the log was merged
		}
		changed += bytes.Count(data, []byte("Pay Bob?"))
		if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("Pay Bob?"), []byte("Pay Eve?")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if changed == 0 {
		t.Fatal("the question is not in the files")
	}
	wants(t, "a start over a damaged store", told(nil), "warning: the store is damaged", "posthouse verify")
}
