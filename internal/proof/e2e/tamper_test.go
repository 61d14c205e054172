package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/sign"
)

// tamper flips one byte in each place of the database file that holds the text
// of a request, one place at a time. In a record that counts, verify must name
// the thread, the entry and the record, and exit with 8.
func (h *house) tamper(thread string) {
	h.t.Helper()
	whole, err := os.ReadFile(filepath.Join(h.dir, "posthouse.db"))
	if err != nil {
		h.t.Fatal(err)
	}
	const text = "please refund order 1234"
	damaged := filepath.Join(h.t.TempDir(), "damaged.db")
	places, found := 0, 0
	for at := 0; ; {
		i := bytes.Index(whole[at:], []byte(text))
		if i < 0 {
			break
		}
		at += i + len(text)
		places++
		copied := bytes.Clone(whole)
		copied[at-1] ^= 1 // order 1235
		if err := os.WriteFile(damaged, copied, 0o600); err != nil {
			h.t.Fatal(err)
		}
		o := h.run("verify", "--store", "sqlite:"+damaged, "--json")
		switch o.code {
		case 0: // in a page that is free, or was copied to another place
		case posthouse.ExitCorrupt:
			found++
			h.named(thread, &o)
		default:
			h.t.Errorf("verify of a flipped byte at %d: exit code %d\n%s", at-1, o.code, o.errOut)
		}
	}
	// The request, the analyzer's result and checkpoint, the question, what
	// follows: not one of them, but each is hashed.
	if found < 3 {
		h.t.Errorf("of %d flipped bytes %d were found", places, found)
	}
}

func (h *house) named(thread string, o *outcome) {
	h.t.Helper()
	var report sign.Report
	if err := json.Unmarshal([]byte(o.out), &report); err != nil {
		if !strings.Contains(o.errOut, "corrupt") {
			h.t.Errorf("verify said neither what is wrong nor that the engine failed: %v\n%s%s", err, o.out, o.errOut)
		}
		return
	}
	for _, f := range report.Faults {
		if f.Thread == thread && f.Seq > 0 {
			return
		}
	}
	h.t.Errorf("no fault names an entry of thread %s: %+v", thread, report.Faults)
}
