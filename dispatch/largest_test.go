package dispatch_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestLargestOfEach: what the limits allow fits, whoever the worker is, also sealed; and the
// next attempt is claimed beside it.
func TestLargestOfEach(t *testing.T) {
	keys, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{1}, 32)}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	text := func(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }
	for name, o := range map[string]*ledger.Options{"plain": nil, "sealed": {Cipher: keys}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHostWith(t, memstore.New(), o, runs.RemoteOptions{})
				w := h.connect("short")
				res, err := h.app.Run(t.Context(), "t", string(text(task.MaxInput)[1:task.MaxInput-1]))
				if err != nil || res.Status != posthouse.StatusWaiting {
					t.Fatal(err)
				}
				slot := bytes.Repeat([]byte{0xff}, task.MaxSlot)
				for _, v := range []task.Verdict{
					{Action: task.Continue, Output: text(task.MaxOutput)}, {Action: task.Fail, Reason: strings.Repeat("<", posthouse.MaxText)},
					{Action: task.Pause, Name: strings.Repeat("<", 200), Delay: task.MinPause}, {Action: task.Complete, Output: text(task.MaxOutput)},
				} {
					c := h.claim(w)
					if len(c.Input) != task.MaxInput {
						t.Errorf("an input of %d bytes", len(c.Input))
					}
					if err := h.d.Save(t.Context(), c.ID, 0, slot); err != nil {
						t.Fatal(err)
					}
					if v, err := h.d.Load(t.Context(), c.ID); err != nil || !bytes.Equal(v, slot) {
						t.Errorf("%d bytes, %v", len(v), err)
					}
					h.resolve(c, v)
					w = h.connect(strings.Repeat("<", 200)) // six bytes each where it is written
				}
				if res, err := h.app.Resume(t.Context(), "t"); err != nil || len(res.Output) != task.MaxOutput-2 {
					t.Errorf("an output of %d bytes, %v", len(res.Output), err)
				}
			})
		})
	}
}
