package sqlitestore_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestFlippedBytesInLists flips bytes of the file: an item that a list or a log
// then has is what it was, and a log that lacks entries says so. A list may lack
// what its index does not lead to any more.
func TestFlippedBytesInLists(t *testing.T) {
	for form, sql := range map[string]func(*sqlite.Conn){
		"with checksums": func(*sqlite.Conn) {},
		"of older versions, without": func(db *sqlite.Conn) {
			for _, row := range strings.Fields(value(t, db, "SELECT group_concat(id || ':' || hex(head), ' ') FROM entries")) {
				id, head, _ := strings.Cut(row, ":")
				b, err := hex.DecodeString(head)
				if err != nil || b[0]&8 == 0 {
					t.Fatalf("head %s, %v", head, err)
				}
				rest := b[1:]
				if b[0]&4 != 0 {
					rest = b[5:]
				}
				script(t, db, fmt.Sprintf("UPDATE entries SET head = x'%02x01%x' WHERE id = %s", b[0]&^12, rest, id))
			}
			script(t, db, "UPDATE tails SET state = CAST(substr(state, 1, 16) || substr(state, 22) AS BLOB)")
		},
	} {
		t.Run(form, func(t *testing.T) { flipLists(t, sql, form == "with checksums") })
	}
}

func flipLists(t *testing.T, prepare func(*sqlite.Conn), summed bool) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.db")
	sample(t, base)
	inspect(t, base, prepare)
	truth, faults := view(t, base)
	if len(faults) > 0 || len(truth["log alpha"]) != 18 || len(truth["list"]) < 10 {
		t.Fatalf("the log has %d entries, the list %d, faults %v", len(truth["log alpha"]), len(truth["list"]), faults)
	}
	bytes := contents(t, base)
	path := filepath.Join(dir, "posthouse.db")
	const seed = 20260102
	rnd := rand.New(rand.NewPCG(seed, 0))
	tally := damage.Begin(t)
	try := func(at int, bit byte) {
		t.Helper()
		b := slices.Clone(bytes)
		b[at] ^= bit
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, faults := view(t, path)
		wrong, short := differs(got, truth, summed)
		switch {
		case wrong != "":
			tally.Served("flipped, lists", "seed %d, byte %d bit %d: %s", seed, at, bit, wrong)
		case len(faults) > 0:
			tally.Found("flipped, lists")
		case strings.HasPrefix(short, "log "):
			tally.Served("flipped, lists", "seed %d, byte %d bit %d: %s lacks entries, and no error says so", seed, at, bit, short)
		case short == "":
			tally.Same("flipped, lists")
		case checked(t, path) == nil: // an index does not lead there any more
			tally.Served("flipped, lists", "seed %d, byte %d bit %d: %s lacks something, and Check does not say so", seed, at, bit, short)
		default:
			tally.Short("flipped, lists")
		}
		for _, err := range faults {
			var e *posthouse.Error
			if !errors.As(err, &e) {
				t.Errorf("seed %d, byte %d bit %d: %v has no code", seed, at, bit, err)
			}
		}
		_ = os.Remove(path + "-wal")
		_ = os.Remove(path + "-shm")
	}
	if n := rounds(400); damage.Step(n) == n {
		for range n {
			try(rnd.IntN(len(bytes)), byte(1)<<rnd.IntN(8))
		}
		return
	}
	for at := range bytes {
		try(at, 1<<(at%8))
	}
}

// differs says what of the items was never there, and where some are missing: in a log, if
// in one.
func differs(got, truth map[string][]string, summed bool) (wrong, short string) {
	for what, items := range got {
		summary := !strings.Contains(what, "log") && !strings.Contains(what, "list")
		for _, item := range items {
			if summary && !summed {
				continue // only their next append gives them a checksum
			}
			if !slices.Contains(truth[what], item) {
				return what + " has " + item, ""
			}
		}
		if len(items) != len(truth[what]) && !strings.HasPrefix(short, "log ") {
			short = what
		}
	}
	return "", short
}

// checked returns the first difference that the check of a store finds.
func checked(t testing.TB, path string) error {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for err := range s.Check(t.Context()) {
		return err
	}
	return nil
}

// view asks a store for its lists and logs, item by item, and collects errors.
func view(t testing.TB, path string) (items map[string][]string, faults []error) {
	t.Helper()
	items = map[string][]string{}
	fail := func(err error) bool {
		if err != nil {
			faults = append(faults, err)
		}
		return err != nil
	}
	s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{ReadOnly: true})
	if fail(err) {
		return nil, faults
	}
	defer func() { _ = s.Close() }()
	l, err := ledger.Open(s, nil)
	if fail(err) {
		return nil, faults
	}
	defer func() { _ = l.Close() }()
	for _, thread := range []string{"alpha", "beta"} {
		for _, back := range []bool{false, true} {
			for e, err := range l.Log(t.Context(), thread, posthouse.Range{Reverse: back}) {
				if fail(err) {
					break
				}
				note(t, items, "log "+thread, e)
			}
		}
	}
	for what, q := range map[string]posthouse.Query{
		"list": {}, "list back": {Descending: true}, "list of a thread": {Thread: "alpha"}, "list of a thread back": {Thread: "alpha", Descending: true},
		"list of a coordination": {Coordination: "crew"}, "list of a node": {Node: "n"},
	} {
		collect(t, items, what, l.List(t.Context(), q), fail)
	}
	for what, q := range map[string]posthouse.ThreadQuery{"threads": {}, "what waits": {Waiting: true}, "gates": {Gates: true}, "one": {Thread: "beta"}} {
		collect(t, items, what, l.Threads(t.Context(), q), fail)
	}
	return items, faults
}

func collect[V any](t testing.TB, items map[string][]string, what string, seq iter.Seq2[V, error], fail func(error) bool) {
	t.Helper()
	items[what] = nil
	for v, err := range seq {
		if fail(err) {
			return
		}
		note(t, items, what, v)
	}
}

func note(t testing.TB, items map[string][]string, what string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	items[what] = append(items[what], string(b))
}
