package conform_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/conform"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(ctx context.Context, url string) (posthouse.Store, error) { return local.Open(ctx, url, nil) }

func run(t *testing.T, o conform.Options) *conform.Report {
	t.Helper()
	if o.Open == nil {
		o.Open = open
	}
	o.Again = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
		return cmd
	}
	report, err := conform.Run(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const path = "POSTHOUSE_CONFORM_PATH"

// TestChild is the process that a case kills. It has nothing to do otherwise.
func TestChild(t *testing.T) {
	if url := os.Getenv(path); url != "" {
		run(t, conform.Options{URL: url})
	}
}

func TestSoundStores(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"memory:", "sqlite:" + filepath.Join(dir, "x.db"), "file:" + filepath.Join(dir, "log")} {
		t.Setenv(path, url)
		last := 0
		report := run(t, conform.Options{URL: url, Only: "re", Progress: func(done, of int, name string) {
			if done != last+1 || of < done || name == "" {
				t.Errorf("progress says %d of %d, %q after %d", done, of, name, last)
			}
			last = done
		}})
		d := report.Durability
		if durable := url != "memory:"; !report.OK() || report.Passed == 0 || d.Kept != durable || d.Killed != durable || d.One.PerSecond <= 0 || d.Many.P99 < d.Many.Median {
			t.Errorf("%s: report %+v", url, report)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestUncheckedRules wants the rules that a command cannot check in the report, and no other.
func TestUncheckedRules(t *testing.T) {
	var want []string
	for _, c := range lineartest.Cases() {
		want = append(want, c.Name)
	}
	if r := run(t, conform.Options{URL: "memory:", Only: "linearizable"}); !slices.Equal(r.Unchecked, want) || r.Passed != 0 {
		t.Errorf("unchecked are %q and %d passed, want %q and none", r.Unchecked, r.Passed, want)
	}
	if r := run(t, conform.Options{URL: "memory:", Only: "ids/"}); len(r.Unchecked) > 0 {
		t.Errorf("unchecked are %q of the theme ids, want none", r.Unchecked)
	}
}

// forgetful breaks a rule, and knows why.
type forgetful struct{ *memstore.Store }

func (f forgetful) Find(context.Context, posthouse.ID) (posthouse.Ref, error) {
	return posthouse.Ref{}, posthouse.NotFound("id", "")
}

func (f forgetful) Weak(context.Context) ([]string, error) {
	return []string{"it forgets: ids lead nowhere"}, nil
}

func TestBrokenStore(t *testing.T) {
	report := run(t, conform.Options{URL: "memory:", Only: "ids/", Open: func(context.Context, string) (posthouse.Store, error) {
		return forgetful{memstore.New()}, nil
	}})
	if report.OK() || len(report.Failed) == 0 || !strings.Contains(report.Failed[0].Log, "the rule:") || len(report.Durability.Weak) != 1 {
		t.Errorf("report %+v", report)
	}
}

// TestPanics: a store that panics fails cases, and not the program.
func TestPanics(t *testing.T) {
	report := run(t, conform.Options{URL: "memory:", Only: "ids/", Open: func(context.Context, string) (posthouse.Store, error) {
		return panics{memstore.New()}, nil
	}})
	if len(report.Failed) == 0 || !strings.Contains(report.Failed[0].Log, "panic: find") {
		t.Errorf("report %+v", report)
	}
}

type panics struct{ *memstore.Store }

func (panics) Find(context.Context, posthouse.ID) (posthouse.Ref, error) { panic("find") }

func TestNoServer(t *testing.T) {
	for _, url := range []string{"file:" + filepath.Join(t.TempDir(), "nowhere", "log"), "nonsense:x"} {
		_, err := conform.Run(t.Context(), &conform.Options{URL: url, Open: open})
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
