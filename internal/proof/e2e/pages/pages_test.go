package pages_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
)

const (
	a = "01a21880-6312-7002-b64d-fa013faa5c3c"
	b = "01a2184d-25e2-7000-8a19-1764519a7ea0"
	c = "01a2187f-78b2-7002-a9ba-eea143d2503a"
)

func TestIDsOfAPage(t *testing.T) {
	ids := pages.IDs{}
	if _, err := ids.Translate("fork " + a); err == nil {
		t.Error("an id that no command said was translated")
	}
	ids.Learn("made "+a, "made "+b+" and "+c)
	ids.Learn("made "+a, "made "+c)
	if here, err := ids.Translate("fork " + a); err != nil || here != "fork "+b {
		t.Errorf("%q, %v; want the id that it was first paired with", here, err)
	}
}

// TestSketch: texts are compared but for what differs from run to run.
func TestSketch(t *testing.T) {
	page := "took   3ms\n" + a + " at 2026-11-01T10:00:00Z, 12 KiB\n" + a
	for other, same := range map[string]bool{
		b + " at 2026-11-02 11:00:01, 1.5 KiB\n" + b:        true,
		b + " at 2026-11-02 11:00:01, 1.5 KiB\n" + c:        false, // ids that were one are two
		b + " on 2026-11-02 11:00:01, 1.5 KiB\n" + b:        false,
		b + " at 2026-11-02 11:00:01, 1.5 KiB\n" + b + "\n": false,
	} {
		if (pages.Sketch(page) == pages.Sketch(other)) != same {
			t.Errorf("%q and %q: want the same is %v", page, other, same)
		}
	}
}
