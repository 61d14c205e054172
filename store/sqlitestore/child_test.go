package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// The test binary started with childEnv set is a process to be killed.
const (
	childEnv = "SQLITESTORE_TEST_CHILD"
	childDB  = "SQLITESTORE_TEST_DB"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		if err := child(mode, os.Getenv(childDB)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// startChild starts a process in a mode; its output is read from the scanner.
func startChild(t testing.TB, mode, path string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+mode, childDB+"="+path), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	return cmd, sc
}

func child(mode, path string) error {
	ctx := context.Background()
	if mode == "read" {
		return readAll(ctx, path)
	}
	s, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	switch mode {
	case "append", "early":
		return appendForEver(ctx, s, mode == "early")
	case "bulk":
		return bulkForEver(ctx, s)
	case "compact":
		fmt.Println("ready")
		for {
			if _, err := s.Compact(ctx); err != nil {
				return err
			}
		}
	case "backup":
		fmt.Println("ready")
		return s.Backup(ctx, path+".backup")
	case "rewrap":
		return rewrapForEver(ctx, s)
	case "limited":
		return appendUntilItFails(ctx, s)
	}
	return fmt.Errorf("no such mode: %s", mode)
}

// readAll reads all there is, and needs no right to write.
func readAll(ctx context.Context, path string) error {
	s, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for info, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return err
		}
		n := 0
		for e, err := range s.Read(ctx, info.Thread, posthouse.Range{}) {
			err = errors.Join(err, e.Check())
			if err != nil {
				return err
			}
			n++
		}
		fmt.Println(info.Thread, n)
	}
	return nil
}

// appendForEver appends from several goroutines and says so on standard
// output: after the acknowledgement, or, to show that the test would notice,
// before it.
func appendForEver(ctx context.Context, s *sqlitestore.Store, early bool) error {
	const writers = 4
	ids := idSource()
	errs := make(chan error, writers)
	var mu sync.Mutex // of standard output
	say := func(b *posthouse.Batch) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s %d %s\n", b.Entry.Thread, b.Entry.Seq, b.Entry.Hash)
	}
	run := rand.Uint32()
	for w := range writers {
		go func() {
			rnd := rand.New(rand.NewPCG(uint64(run), uint64(w)))
			for n := 0; ; n++ {
				l := newLine(fmt.Sprintf("t-%d-%d-%d", run, w, n), ids)
				for range 40 {
					b := l.node(words(rnd, 50+rnd.IntN(3000)))
					if early {
						say(b)
					}
					if err := s.Append(ctx, b); err != nil {
						errs <- err
						return
					}
					if !early {
						say(b)
					}
				}
			}
		}()
	}
	return <-errs
}

// bulkSize is how many entries the child appends at once.
const bulkSize = 50

// bulkForEver appends bulks to threads that are new each time.
func bulkForEver(ctx context.Context, s *sqlitestore.Store) error {
	ids, run := idSource(), rand.Uint32()
	rnd := rand.New(rand.NewPCG(uint64(run), 0))
	for n := 0; ; n++ {
		l := newLine(fmt.Sprintf("t-%d-%d", run, n), ids)
		for range 4 {
			var bs []*posthouse.Batch
			for range bulkSize {
				bs = append(bs, l.node(words(rnd, 50+rnd.IntN(3000))))
			}
			if err := s.AppendAll(ctx, bs); err != nil {
				return err
			}
			for _, b := range bs {
				fmt.Printf("%s %d %s\n", b.Entry.Thread, b.Entry.Seq, b.Entry.Hash)
			}
		}
	}
}

// appendUntilItFails reports how the store behaves when writes begin to fail.
func appendUntilItFails(ctx context.Context, s *sqlitestore.Store) error {
	if err := limitFileSize(1 << 20); err != nil {
		return err
	}
	l := newLine("t", idSource())
	for {
		b := l.node(make([]byte, 20_000))
		if err := s.Append(ctx, b); err != nil {
			fmt.Println("failed", code(err))
			break
		}
		fmt.Println("acknowledged", b.Entry.Seq)
	}
	fmt.Println("then", code(s.Append(ctx, newLine("u", idSource()).node([]byte("x")))))
	for info, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return err
		}
		fmt.Println("reads", info.Tail.Seq)
	}
	return nil
}

func code(err error) string {
	for _, e := range []*posthouse.Error{posthouse.ErrUnknown, posthouse.ErrReadOnly, posthouse.ErrFull} {
		if errors.Is(err, e) {
			return string(e.Code)
		}
	}
	return fmt.Sprint(err)
}

// stride is how far apart the places in a file are that a test tries: so that there are
// rounds(n), or all.
func stride(size, n int) int { return max(1, damage.Step(size/rounds(n))) }

// rounds is how often a test of chance is repeated: SQLITESTORE_ROUNDS, or n,
// or with -short a twentieth of that.
func rounds(n int) int {
	if v, err := strconv.Atoi(strings.TrimSpace(os.Getenv("SQLITESTORE_ROUNDS"))); err == nil && v > 0 {
		return v
	}
	if testing.Short() {
		return (n + 19) / 20
	}
	return n
}
