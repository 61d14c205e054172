package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/examples/internal/process"
	"github.com/posthouse/posthouse/worker/workertest"
)

func TestMain(m *testing.M) {
	if process.Started() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestAKilledBatchSkipsWhatIsDone kills the process in the middle of an item: that one is
// handled twice, and each other one once.
func TestAKilledBatchSkipsWhatIsDone(t *testing.T) {
	kills := []int{0, 73, 99}
	if testing.Short() {
		kills = []int{73}
	}
	for _, kill := range kills {
		t.Run(fmt.Sprint("item ", kill), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var out bytes.Buffer
			if err := show(t.Context(), &out, dir, kill); err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprintf("the second process: 100 items, %d of them skipped, attempt 2\n", kill); !bytes.HasSuffix(out.Bytes(), []byte(said)) {
				t.Errorf("it said\n%swant\n%s", &out, said)
			}
			var want []string
			for item := range items {
				want = append(want, fmt.Sprint("item ", item))
				if item == kill {
					want = append(want, fmt.Sprint("item ", item))
				}
			}
			if lines, err := handled(dir).Notes(); err != nil || !slices.Equal(lines, want) {
				t.Errorf("%v: it handled %q", err, lines)
			}
		})
	}
}

// TestTheHandlerAlone needs no engine: what fails is done again, and nothing before it.
func TestTheHandlerAlone(t *testing.T) {
	broken := errors.New("a broken photo")
	fail, done := true, []int(nil)
	handle := resize(func(item int) error {
		if item == 3 && fail {
			return broken
		}
		done = append(done, item)
		return nil
	})
	e := workertest.NewTask(Batch{Items: 5})
	if _, err := handle(e, Batch{Items: 5}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	fail = false
	report, err := handle(e.Again(), Batch{Items: 5})
	if want := (Report{Items: 5, Skipped: 3, Attempts: 2}); err != nil || report != want || !slices.Equal(done, []int{0, 1, 2, 3, 4}) {
		t.Errorf("report %+v, error %v, done %v", report, err, done)
	}
}
