package golden_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// before is the last commit that does not know how people settle an unknown outcome in words of its own.
const before = "565a7a82"

// An earlier is a process of an earlier version that reads a store.
type earlier struct {
	t     *testing.T
	lines io.Writer
	says  *bufio.Reader
}

// buildEarlier builds the reader in the tree of the commit.
func buildEarlier(t *testing.T) (binary string) {
	t.Helper()
	top := "../../.."
	if err := exec.CommandContext(t.Context(), "git", "-C", top, "cat-file", "-e", before+"^{commit}").Run(); err != nil {
		if os.Getenv("POSTHOUSE_REQUIRE_HISTORY") == "" {
			t.Skipf("AN EARLIER VERSION IS NOT TRIED: this checkout has no commit %s (git fetch --unshallow): %v", before, err)
		}
		t.Fatalf("this checkout has no commit %s: %v", before, err)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "tree.tar")
	run := func(dir, name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run(top, "git", "archive", "--output", archive, before)
	tree := filepath.Join(dir, "tree")
	reader := filepath.Join(tree, "earlier")
	must.Do(t, os.MkdirAll(reader, 0o755))
	run(tree, "tar", "-xf", archive)
	source := must.Get(os.ReadFile("testdata/565a7a8-reader/main.go.txt"))(t)
	must.Do(t, os.WriteFile(filepath.Join(reader, "main.go"), source, 0o644))
	binary = filepath.Join(dir, "reader")
	run(tree, "go", "build", "-o", binary, "./earlier")
	return binary
}

// startEarlier starts the reader on a store. It says with which code the store was opened.
func startEarlier(t *testing.T, binary, store string) (e *earlier, code string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, store)
	c.Stderr = os.Stderr
	in := must.Get(c.StdinPipe())(t)
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	e = &earlier{t, in, bufio.NewReader(out)}
	return e, e.next()
}

func (e *earlier) next() string {
	e.t.Helper()
	line, err := e.says.ReadString('\n')
	if err != nil {
		e.t.Fatal("the earlier version ended:", err)
	}
	return strings.TrimSpace(line)
}

// reads returns the code with which it reads a thread.
func (e *earlier) reads(thread string) string {
	e.t.Helper()
	must.Get(io.WriteString(e.lines, thread+"\n"))(e.t)
	return e.next()
}

// settle has an effect end with an unknown outcome, and a person settle it by the verdict happened.
func settle(t *testing.T, store posthouse.Store) {
	t.Helper()
	ctx := t.Context()
	l := must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)
	app := must.Get(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, amount)
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "transfer", grant, func(context.Context, int) (string, error) {
			return "", errors.New("connection reset")
		})
	}).Open(l, nil))(t)
	out := must.Get(app.Run(ctx, "settled", 10))(t)
	must.Get(l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}))(t)
	out = must.Get(app.Resume(ctx, "settled"))(t)
	must.Get(l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Happened, By: "ann", Value: []byte(`"paid"`)}))(t)
	must.Do(t, l.Close())
	must.Do(t, store.Close())
}

// TestEarlierVersionKnowsThatThisIsNewer: the version before part of the format changed says of a store of
// this one that it is of a newer version, never that it is damaged, when it opens it and while it runs.
func TestEarlierVersionKnowsThatThisIsNewer(t *testing.T) {
	binary := buildEarlier(t)
	newer := string(posthouse.CodeNewer)
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		settle(t, must.Get(sqlitestore.Open(t.Context(), path, nil))(t))
		if _, code := startEarlier(t, binary, path); code != newer {
			t.Errorf("it opens the store with %q, want %q", code, newer)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		if !pgtest.Installed() && os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
			t.Skip("no PostgreSQL is installed")
		}
		url := pgtest.Start(t).URL()
		running, code := startEarlier(t, binary, url)
		if code != "ok" || running.reads("settled") != string(posthouse.CodeNotFound) {
			t.Fatalf("it opens an empty store with %q", code)
		}
		settle(t, must.Get(pgstore.Open(t.Context(), url, nil))(t))
		if code := running.reads("settled"); code != newer {
			t.Errorf("while it runs, it reads the thread with %q, want %q", code, newer)
		}
		if _, code := startEarlier(t, binary, url); code != newer {
			t.Errorf("it opens the store with %q, want %q", code, newer)
		}
	})
}
