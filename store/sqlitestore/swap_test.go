package sqlitestore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestSwappedRows swaps neighbours in each page of the file, so that tables and indexes are
// out of order: it is found, or changes no answer. Nothing goes round for ever.
func TestSwappedRows(t *testing.T) {
	dir := t.TempDir()
	base, path := filepath.Join(dir, "base.db"), filepath.Join(dir, "posthouse.db")
	sample(t, base)
	whole, want := contents(t, base), answers(t, base)
	seen := watched(t, base)
	tally := damage.Begin(t)
	for page := 1; page*pageSize <= len(whole); page++ {
		begin, cells := pointers(whole, page)
		for i := 1; i < cells; i++ {
			b := slices.Clone(whole)
			at := begin + 2*i
			copy(b[at-2:], []byte{whole[at], whole[at+1], whole[at-2], whole[at-1]})
			what := fmt.Sprintf("cells %d and %d of page %d", i-1, i, page)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			got, watch := answers(t, path), watched(t, path)
			found := strings.Contains(got, "error") || strings.Contains(watch, "error")
			switch {
			case !strings.Contains(got, "error") && got != want, !strings.Contains(watch, "error") && watch != seen:
				tally.Served("swapped", "%s: served as if nothing had happened:\n%s\n%s", what, got, watch)
			case found:
				tally.Found("swapped")
			default:
				tally.Same("swapped")
			}
			compacts(t, path, what)
			for _, ending := range []string{"-wal", "-shm", ".lock"} {
				_ = os.Remove(path + ending)
			}
		}
	}
	if tally.Of("swapped").Found == 0 {
		t.Error("nothing was found")
	}
}

const pageSize = 4096

// pointers returns where in the file a page of a tree lists its cells, and how many it has:
// 0 on any other page.
func pointers(file []byte, page int) (at, cells int) {
	header := (page - 1) * pageSize
	if page == 1 {
		header += 100 // after the header of the file
	}
	at = header + 8
	switch file[header] {
	case 2, 5: // inner pages have one more number
		at += 4
	case 10, 13:
	default:
		return 0, 0
	}
	return at, int(binary.BigEndian.Uint16(file[header+3:]))
}

// endless is how long a call may take that is given a context: it would go on for ever.
const endless = 10 * time.Second

// watched returns what a watch shows, up to the number of entries in the sample.
func watched(t *testing.T, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endless)
	defer cancel()
	s, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		return "error " + err.Error()
	}
	defer func() { _ = s.Close() }()
	var b strings.Builder
	n := 0
	for e, err := range s.Watch(ctx, "") {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			break
		}
		fmt.Fprintf(&b, "%s %d %s\n", e.Thread, e.Seq, e.Hash)
		if n++; n == 12 {
			break
		}
	}
	return b.String()
}

// compacts compacts a damaged store, which may fail, and must end.
func compacts(t *testing.T, path, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endless)
	defer cancel()
	s, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Compact(ctx); errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: compacting does not end", what)
	}
	for err := range s.Check(ctx) {
		if e := (*posthouse.Error)(nil); !errors.As(err, &e) {
			t.Errorf("%s: the check says %v", what, err)
			break
		}
	}
}
