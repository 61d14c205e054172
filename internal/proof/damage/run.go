package damage

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

	// Parts is among how many processes, one after the other, the changes of the first test are
	// divided: a NATS server that has ended keeps some memory until its process ends. 0 is 1.
	Parts int
}

// Stores returns all kinds of stores but the one in memory.
func Stores() []Store {
	return []Store{
		{Name: "file", Package: "store/filestore", Tests: []string{"TestEveryFlippedByte", "TestEveryTruncation", "TestTornJournal", "TestLogsFromAnotherTime"}},
		{Name: "sqlite", Package: "store/sqlitestore", Tests: []string{"TestEveryFlippedByteIsFound", "TestFlippedBytesInLists", "TestTruncatedFile", "TestTruncatedWAL", "TestSwappedRows"}},
		{Name: "postgres", Package: "store/pgstore", Tests: []string{"TestMisplacedRows"}},
		{Name: "redis", Package: "store/redisstore", Tests: []string{"TestDamage", "TestMisplacedValues"}},
		{Name: "s3", Package: "store/s3store", Tests: []string{"TestDamagedObjects", "TestMisplacedObjects"}},
		{Name: "nats", Package: "store/natsstore", Tests: []string{"TestDamage", "TestMisplacedMessages"}, Note: "files are cut off at three places each", Parts: 10},
	}
}

// Run runs a store's tests, which try every byte, and returns the line of the record. It
// must be called at the top of the module. say is told how far they are. A line is returned
// with an error if all tests told their tallies and something was served.
func Run(ctx context.Context, s Store, say func(string)) (*Line, error) {
	l := &Line{Store: s.Name, Kinds: map[string]Sum{}, Note: s.Note}
	var served error
	for part := range max(1, s.Parts) {
		tests, env := s.Tests, []string{Whole + "=all"}
		if s.Parts > 1 {
			env = append(env, fmt.Sprintf("%s=%d/%d", Part, part, s.Parts))
		}
		if part > 0 {
			tests = s.Tests[:1]
		}
		told, err := l.run(ctx, s.Package, tests, env, say)
		if !told {
			return nil, err
		}
		served = errors.Join(served, err)
	}
	return l, served
}

// run adds what tests find in one process. It reports whether all told their tallies.
func (l *Line) run(ctx context.Context, pkg string, tests, env []string, say func(string)) (told bool, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=0", "-v", "-run", "^("+strings.Join(tests, "|")+")$", "./"+pkg)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	err = l.read(out, tests, say)
	told = err == nil && ctx.Err() == nil
	if failed := cmd.Wait(); failed != nil {
		err = cmp.Or(ctx.Err(), err, fmt.Errorf("%s: %w", pkg, failed))
	}
	return told, err
}

// read adds what tests tell. It fails without the tallies of all of them.
func (l *Line) read(out io.Reader, tests []string, say func(string)) error {
	var have []string
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
			return err
		}
		for kind, sum := range r.Kinds {
			total := l.Kinds[kind]
			total.add(sum)
			l.Kinds[kind] = total
		}
		name, _, _ := strings.Cut(r.Test, "/")
		have = append(have, name)
		if !slices.Contains(l.Tests, name) {
			l.Tests = append(l.Tests, name)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, name := range tests {
		if !slices.Contains(have, name) {
			return fmt.Errorf("%s: %s told nothing", l.Store, name)
		}
	}
	return nil
}
