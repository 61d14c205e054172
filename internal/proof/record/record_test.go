package record_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type line struct{ Cuts int }

func TestLinesAreReadAsTheyWereAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if have, err := record.Read[line](path); err != nil || have != nil {
		t.Fatalf("got %v, error %v", have, err)
	}
	for i := range 3 {
		if err := record.Append(path, line{i}); err != nil {
			t.Fatal(err)
		}
	}
	have, err := record.Read[line](path)
	if want := []line{{0}, {1}, {2}}; err != nil || !slices.Equal(have, want) {
		t.Errorf("%v %v, want %v", have, err, want)
	}
	if err := os.WriteFile(path, []byte("{}\nno\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Read[line](path); err == nil {
		t.Error("a line that is not JSON is read")
	}
}

func TestEachRecordHasAPlaceInThePage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "a\n<!-- sums of x -->\nold\n<!-- end of sums -->\nb\n<!-- sums of y -->\n<!-- end of sums -->\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"x", "y"} {
		if err := record.Quote(page, of, "new "+of+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []string{"x", "y"} {
		if have, err := record.Quoted(page, of); err != nil || have != "new "+of+"\n" {
			t.Errorf("got %q, error %v", have, err)
		}
	}
	if record.Quote(page, "z", "") == nil {
		t.Error("a record without a place is quoted")
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if have := record.Grouped(n); have != want {
			t.Errorf("%d is %s, want %s", n, have, want)
		}
	}
}
