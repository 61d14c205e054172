package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Durability says what becomes of acknowledged writes, and what one costs.
type Durability struct {
	// Kept says that writes survive the process. Killed says that a killed process lost no
	// write, which is a case of the suite.
	Kept   bool `json:"kept"`
	Killed bool `json:"killed"`

	// Weak are the settings by which the server loses acknowledged writes, with the reason.
	Weak []string `json:"weak"`

	// One is a writer alone, Many are 32 writers of a thread each. A durable write that
	// takes no time is not durable.
	One  Pace `json:"one"`
	Many Pace `json:"many"`
}

// A Pace is how fast writes were: saves of a checkpoint of 1 KB.
type Pace struct {
	PerSecond float64       `json:"perSecond"`
	Median    time.Duration `json:"medianNanos"`
	P99       time.Duration `json:"p99Nanos"`
}

const (
	writers = 32
	saves   = 256 // of one writer, and of all writers together twice that
)

// measure opens a namespace, asks its store what is weak, and times writes.
func (s *suite) measure(ctx context.Context) (d *Durability, err error) {
	name, err := os.MkdirTemp("", "posthouse-check-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(name) }()
	store, err := s.server.Make(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, store.Close())
		if e := s.server.Drop(context.WithoutCancel(ctx), name); e != nil && err == nil {
			s.report.LeftBehind = append(s.report.LeftBehind, e.Error())
		}
	}()
	d = &Durability{Kept: !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s.URL)), "memory:"), Weak: []string{}}
	if w, ok := store.(posthouse.Weaker); ok {
		weak, err := w.Weak(ctx)
		if err != nil {
			return nil, err
		}
		d.Weak = append(d.Weak, weak...)
	}
	led, err := ledger.Open(store, nil)
	if err != nil {
		return nil, err
	}
	d.One, err = pace(ctx, led, 1, saves)
	if err != nil {
		return nil, err
	}
	d.Many, err = pace(ctx, led, writers, 2*saves/writers)
	return d, err
}

// pace saves n checkpoints in each of several threads at once.
func pace(ctx context.Context, led *ledger.Ledger, threads, n int) (Pace, error) {
	took := make([][]time.Duration, threads)
	errs := make([]error, threads)
	state := []byte(`"` + strings.Repeat("x", 1022) + `"`)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for range n {
				at := time.Now()
				_, err := led.Save(ctx, &posthouse.Checkpoint{
					Header: posthouse.Header{Thread: fmt.Sprintf("pace-%d-%d", threads, i)},
					State:  posthouse.State{"text": posthouse.Value{Codec: posthouse.JSON.Name(), Data: state}},
				}, nil)
				if err != nil {
					errs[i] = err
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return Pace{}, err
	}
	slices.Sort(all)
	return Pace{
		PerSecond: float64(len(all)) / time.Since(begun).Seconds(),
		Median:    all[len(all)/2], P99: all[len(all)*99/100],
	}, nil
}
