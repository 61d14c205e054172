package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Names of the environment of a started program.
const (
	envPath  = "POSTHOUSE_CRASH_PATH"
	envAfter = "POSTHOUSE_CRASH_AFTER"
)

// A Store kills its process after a commit: the commit is durable, and its caller
// has no answer.
type Store struct {
	*sqlitestore.Store
	Path string       // of its file
	left atomic.Int64 // commits until then; 0: it never happens
}

// Append commits, and does not return from the last commit.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := s.Store.Append(ctx, b); err != nil || s.left.Add(-1) != 0 {
		return err
	}
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return fmt.Errorf("crash: cannot kill this process: %w", err)
	}
	select {} // the signal is on its way
}

// Started opens the store of a program that Run started; nil in any other
// process.
func Started(ctx context.Context) (*Store, error) {
	path := os.Getenv(envPath)
	if path == "" {
		return nil, nil
	}
	after, err := strconv.ParseInt(os.Getenv(envAfter), 10, 64)
	if err != nil {
		return nil, err
	}
	inner, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	s := &Store{Store: inner, Path: path}
	s.left.Store(after)
	return s, nil
}

// Note adds a line to a file beside the store: what the program does to the
// world.
func (s *Store) Note(line string) {
	f, err := os.OpenFile(s.Path+".notes", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		panic(fmt.Sprintf("crash: the test's own file: %v", err))
	}
}

// Notes returns the lines that programs noted beside the store at the path.
func Notes(path string) ([]string, error) {
	data, err := os.ReadFile(path + ".notes")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), err
}

// Run starts this binary again, with a store at the path that kills it after its
// n-th commit. 0 never kills it. Run returns what the program printed and whether
// it was killed before it ended. A program that fails, or takes more than a
// minute, is an error.
func Run(ctx context.Context, path string, n int, args ...string) (out string, killed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), envPath+"="+path, envAfter+"="+strconv.Itoa(n),
		"GORACE=atexit_sleep_ms=0") // the race detector would have each program linger for a second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return string(printed), false, fmt.Errorf("crash: the program hangs: %w\n%s", ctx.Err(), errs.String())
	case n > 0 && errors.As(err, &exit) && exit.ExitCode() == -1: // by a signal
		return string(printed), true, nil
	case err != nil:
		return string(printed), false, fmt.Errorf("crash: %w\n%s", err, errs.String())
	}
	return string(printed), false, nil
}
