package damage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A Store is a kind of store with its tests of damage.
type Store struct {
	Name    string
	Package string // from the top of the module
	Tests   []string
	Note    string // what of it is not tried, for the record
}

// Stores returns all kinds of stores but the one in memory.
func Stores() []Store {
	return []Store{
		{Name: "file", Package: "store/filestore", Tests: []string{"TestEveryFlippedByte", "TestEveryTruncation", "TestTornJournal", "TestLogsFromAnotherTime"}},
		{Name: "sqlite", Package: "store/sqlitestore", Tests: []string{"TestEveryFlippedByteIsFound", "TestFlippedBytesInLists", "TestTruncatedFile", "TestTruncatedWAL", "TestSwappedRows"}},
		{Name: "postgres", Package: "store/pgstore", Tests: []string{"TestMisplacedRows"}},
		{Name: "redis", Package: "store/redisstore", Tests: []string{"TestDamage", "TestMisplacedValues"}},
		{Name: "s3", Package: "store/s3store", Tests: []string{"TestDamagedObjects", "TestMisplacedObjects"}},
		{Name: "nats", Package: "store/natsstore", Tests: []string{"TestDamage", "TestMisplacedMessages"}, Note: "files are cut off at three places each"},
	}
}

// Run runs a store's tests, which try every byte, and returns the line of the record. It
// must be called at the top of the module. say is told how far they are. A line is returned
// with an error if all tests told their tallies and something was served.
func Run(ctx context.Context, s Store, say func(string)) (*Line, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=0", "-v",
		"-run", "^("+strings.Join(s.Tests, "|")+")$", "./"+s.Package)
	cmd.Env = append(os.Environ(), Whole+"=all")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := read(out, s, say)
	if failed := cmd.Wait(); err == nil && failed != nil {
		err = fmt.Errorf("%s: %w", s.Package, failed)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return line, err
}

// read sums up what tests tell. Without the tallies of all tests there is no line.
func read(out io.Reader, s Store, say func(string)) (*Line, error) {
	l := &Line{Store: s.Name, Kinds: map[string]Sum{}, Note: s.Note}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, told, ok := strings.Cut(lines.Text(), said)
		if !ok {
			told = strings.TrimSpace(lines.Text())
		}
		say(told)
		if !ok || !strings.HasPrefix(told, "{") {
			continue
		}
		var r report
		if err := json.Unmarshal([]byte(told), &r); err != nil {
			return nil, err
		}
		for kind, sum := range r.Kinds {
			have := l.Kinds[kind]
			have.add(sum)
			l.Kinds[kind] = have
		}
		name, _, _ := strings.Cut(r.Test, "/")
		if !slices.Contains(l.Tests, name) {
			l.Tests = append(l.Tests, name)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range s.Tests {
		if !slices.Contains(l.Tests, name) {
			return nil, fmt.Errorf("%s: %s told nothing", s.Package, name)
		}
	}
	return l, nil
}
