package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/scratch"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestAll runs every workload, small: what it measures then means nothing, but
// all of it works.
func TestAll(t *testing.T) {
	o := &Options{Rounds: 1, Scale: 100, Dir: t.TempDir()}
	figures, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	for _, url := range []string{"sqlite:" + filepath.Join(disk, "x.db"), "file:" + filepath.Join(disk, "log")} {
		o.Server = &scratch.Server{URL: url, Open: func(ctx context.Context, url string) (posthouse.Store, error) { return local.Open(ctx, url, nil) }}
		more, err := Run(t.Context(), o)
		if err != nil || len(more) != 12 {
			t.Fatalf("%s: more %v, error %v", url, more, err)
		}
		figures = append(figures, more...)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	more, err := Run(t.Context(), &Options{Serve: true, Rounds: 1, Scale: 20, Dir: t.TempDir(), Duration: 6 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	figures = append(figures, more...)
	seen := map[string]bool{}
	for _, f := range figures {
		seen[f.Workload] = true
		if f.Ours <= 0 && !strings.HasPrefix(f.Name, "rate of") { // which is too short a time here

			t.Errorf("%s, %s: nothing was measured", f.Workload, f.Name)
		}
	}
	names, about := Names()
	for i, n := range names {
		if !seen[n] || about[i] == "" {
			t.Errorf("%s has no figures", n)
		}
	}
}

// TestStepsAllocateLittle counts the pieces of memory of a step: of one thread in memory, and of
// 1,000 threads of 10 steps, each of which claims its thread and begins it. They are 14, 19 and
// 21. The limits have room for the race detector, under which pools lose some of what they are
// given.
func TestStepsAllocateLittle(t *testing.T) {
	files := &scratch.Server{
		URL: "file:" + filepath.Join(t.TempDir(), "log"), Open: func(ctx context.Context, url string) (posthouse.Store, error) { return local.Open(ctx, url, nil) },
	}
	for _, c := range []struct {
		workload string
		server   *scratch.Server
		most     float64
	}{{"memory", nil, 18}, {"w3", nil, 26}, {"writers", files, 28}} {
		figures, err := Run(t.Context(), &Options{Only: []string{c.workload}, Rounds: 1, Dir: t.TempDir(), Server: c.server})
		if err != nil {
			t.Fatal(err)
		}
		counted := false
		for _, f := range figures {
			if f.Name != "allocations" {
				continue
			}
			counted = true
			t.Logf("%s: %.1f", c.workload, f.Ours)
			if f.Ours > c.most {
				t.Errorf("%s: a step makes %.1f objects, want at most %.0f", c.workload, f.Ours, c.most)
			}
		}
		if !counted {
			t.Errorf("%s did not count: %v", c.workload, figures)
		}
	}
}

func TestUnknownWorkload(t *testing.T) {
	for _, o := range []*Options{{Only: []string{"w9"}}, {Only: []string{"writer"}}, {Only: []string{"w1"}, Server: &scratch.Server{}}} {
		if _, err := Run(t.Context(), o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	o := &Options{Rounds: 1, Scale: 100, Server: &scratch.Server{URL: "memory:", Open: func(context.Context, string) (posthouse.Store, error) { return memstore.New(), nil }}}
	if _, err := Run(t.Context(), o); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("a store with nothing to compare it with: %v", err)
	}
}

// The same workloads for go test -bench; the ratios need posthouse bench.
func Benchmark(b *testing.B) {
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			s, err := newSession(b.Context(), &Options{Rounds: 1, Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s.figures = nil
				if err := s.one(w); err != nil {
					b.Fatal(err)
				}
			}
			for _, f := range s.figures {
				b.ReportMetric(f.Value, metric(f.Name))
			}
		})
	}
}

// metric makes a figure's name one word, as testing wants it.
func metric(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == ' ' || c == ',' {
			out[i] = '-'
		}
	}
	return string(out)
}

// TestLimitsAreThoseOfTheServer: an address with TLS has the limits of one without.
func TestLimitsAreThoseOfTheServer(t *testing.T) {
	for url, same := range map[string]string{"tls://h:4222": "nats", "rediss://h": "redis", "postgresql://h/d": "postgres", " SQLite:x.db": "sqlite"} {
		s := &session{opt: Options{Server: &scratch.Server{URL: url}}}
		if have := s.limits(); have != limits[same] || have == [2]float64{} {
			t.Errorf("%s: %v, want those of %s, %v", url, have, same, limits[same])
		}
	}
}
