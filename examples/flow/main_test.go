package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/crash"
	"github.com/posthouse/posthouse/store/memstore"
)

const day = 24 * time.Hour

func later(d time.Duration) time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(d) }

func TestMain(m *testing.M) {
	store, err := crash.Started(context.Background())
	if store == nil && err == nil {
		goleak.VerifyTestMain(m) // exits
	}
	if err == nil {
		err = errors.Join(child(store, os.Args[1], os.Args[2]), store.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child handles one request in a process of its own, so long after the first.
func child(store *crash.Store, verb, after string) error {
	d, err := time.ParseDuration(after)
	if err != nil {
		return err
	}
	do := func(_ context.Context, what string) (string, error) { store.Note(what); return "ok", nil }
	s, err := open(store, func() time.Time { return later(d) }, do, day)
	if err != nil {
		return err
	}
	defer s.ledger.Close()
	if verb == "paid" {
		return s.paid(context.Background(), "o", "payment-1", Payment{Amount: 40})
	}
	out, err := s.request(context.Background(), "o", Order{Item: "lamp"})
	if err == nil {
		fmt.Println(out.Status, waits(out), out.Output.Paid, len(out.Output.Bookings), out.Output.At.Format(time.DateOnly))
	}
	return err
}

// TestAnOrderSurvivesItsProcesses sends each request twice, and kills a process
// after each commit that the requests make.
func TestAnOrderSurvivesItsProcesses(t *testing.T) {
	requests := []struct{ verb, after, want string }{
		{"order", "0s", "waiting signal signal:paid 0 0 0001-01-01\n"},
		{"paid", "1h", ""},
		{"order", "1h", "waiting timer sleep:regret 0 0 0001-01-01\n"},
		{"order", "24h", "waiting timer sleep:regret 0 0 0001-01-01\n"},
		{"order", "26h", "done  40 3 2026-01-02\n"},
	}
	want := []string{
		"book a lamp with the accounts", "book a lamp with the courier", "book a lamp with the stock",
		"invoice for a lamp with key o/1/order/invoice/0",
	}
	died := 0
	for at := range requests {
		for n := 1; ; n++ {
			path := filepath.Join(t.TempDir(), "flow.db")
			killed := false
			for i, r := range requests {
				limit := 0
				if i == at {
					limit = n
				}
				_, k, err := crash.Run(t.Context(), path, limit, r.verb, r.after)
				killed = killed || k
				if err != nil {
					t.Fatal(err)
				}
				out, _, err := crash.Run(t.Context(), path, 0, r.verb, r.after)
				if err != nil || out != r.want {
					t.Fatalf("request %d, killed behind commit %d of request %d: %v, %q", i, n, at, err, out)
				}
			}
			notes, err := crash.Notes(path)
			slices.Sort(notes)
			// Bookings run beside each other: one that had no time to get on record
			// when another's commit was the last is made again, under its key.
			if len(notes) > len(want) && killed && at == len(requests)-1 {
				notes = slices.Compact(notes)
			}
			if err != nil || !slices.Equal(notes, want) {
				t.Errorf("killed behind commit %d of request %d: %v, %q", n, at, err, notes)
			}
			if !killed {
				break
			}
			died++
		}
	}
	if died < 8 {
		t.Errorf("%d processes died only: the test tested nothing", died)
	}
}

func TestUnpaidOrderIsWithdrawn(t *testing.T) {
	now := later(0)
	var did []string
	do := func(_ context.Context, what string) (string, error) { did = append(did, what); return "no. 1", nil }
	s, err := open(memstore.New(), func() time.Time { return now }, do, day)
	if err != nil {
		t.Fatal(err)
	}
	defer s.ledger.Close()
	for range 3 {
		if _, err := s.request(t.Context(), "o", Order{Item: "lamp"}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(14 * day)
	}
	out, err := s.app.Result(t.Context(), "o")
	if err != nil || out.Status != posthouse.StatusDone || out.Output.Paid != 0 || len(did) != 2 || did[1] != "withdraw no. 1" {
		t.Errorf("output %+v, did %q, error %v", out, did, err)
	}
}
