package bench

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestAll runs every workload, small: what it measures then means nothing, but
// all of it works.
func TestAll(t *testing.T) {
	figures, err := Run(t.Context(), &Options{Rounds: 1, Scale: 100, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range figures {
		seen[f.Workload] = true
		if f.Ours <= 0 {
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

func TestUnknownWorkload(t *testing.T) {
	if _, err := Run(t.Context(), &Options{Only: []string{"w9"}}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("%v", err)
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
