package pgstore_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A counting handler tells of each message.
type counting struct {
	slog.Handler
	each func()
}

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

func (c counting) Handle(context.Context, slog.Record) error { c.each(); return nil }

// TestStatementTimeout has a server end statements that take longer than its statement_timeout
// or lock_timeout, as when they wait for a foreign transaction. The store asks again for as
// long as its own Timeout. A write that is not done by then is unknown, and safe to repeat.
func TestStatementTimeout(t *testing.T) {
	for _, setting := range []string{"statement_timeout", "lock_timeout"} {
		t.Run(setting, func(t *testing.T) {
			url := pgtest.URL(t) + "&" + setting + "=100"
			again := make(chan struct{}, 1000)
			log := slog.New(counting{slog.DiscardHandler, func() { again <- struct{}{} }})
			c := connect(t, pgtest.URL(t))
			openAt(t, pgtest.URL(t), pgstore.Options{}) // makes the schema, which may take longer than a statement here
			patient := openAt(t, url, pgstore.Options{Logger: log})
			l := storetest.NewBuilder().Log("t")
			servertest.Take(t, patient, l, l.Checkpoint(posthouse.Header{}, "x"))

			run(t, c, "BEGIN")
			run(t, c, "SELECT 1 FROM posthouse.threads WHERE name = 't' FOR UPDATE")
			next := l.Next(l.Step("s", []byte("y")))
			done := make(chan error)
			go func() { done <- patient.Append(t.Context(), next) }()
			for range 2 { // it was ended twice
				select {
				case <-again:
				case err := <-done:
					t.Fatalf("Append: %v", err)
				}
			}
			run(t, c, "ROLLBACK")
			if err := <-done; err != nil {
				t.Errorf("Append once the lock is free: %v", err)
			}
			l.Took(next)

			hasty := openAt(t, url, pgstore.Options{Timeout: 300 * time.Millisecond})
			run(t, c, "BEGIN")
			run(t, c, "LOCK TABLE posthouse.threads IN ACCESS EXCLUSIVE MODE")
			next = l.Next(l.Step("s", []byte("z")))
			if err := hasty.Append(t.Context(), next); !errors.Is(err, posthouse.ErrUnknown) {
				t.Errorf("Append: got %v, want %v", err, posthouse.ErrUnknown)
			}
			for _, err := range hasty.Threads(t.Context(), posthouse.ThreadQuery{}) {
				if !errors.Is(err, posthouse.ErrUnavailable) {
					t.Errorf("Threads: got %v, want %v", err, posthouse.ErrUnavailable)
				}
			}
			run(t, c, "ROLLBACK")
			for range 2 {
				if err := patient.Append(t.Context(), next); err != nil {
					t.Errorf("Append again: %v", err)
				}
			}
			servertest.WantSound(t, patient, "t", 3)
		})
	}
}
