// Command flow is an order, as a plain Go function. Your problem: the function
// takes days. It charges a card, waits for a payment to arrive, lets a
// customer change their mind for a day, books three things at once; the process
// that runs it will be restarted a few times in those days, and the request that
// began it may come twice.
//
//	go run ./examples/flow order lamp      # twice: it is begun once
//	go run ./examples/flow paid            # the bank says so
//	go run ./examples/flow order lamp      # the outcome, once the day is over
//
// Between the commands no process runs, and nothing waits in memory. The day
// is ten seconds here, so that you can see it end.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// An Order is what the flow is given, a Receipt what it returns.
type (
	Order   struct{ Item string }
	Receipt struct {
		Item     string
		Paid     int
		Bookings []string
		At       time.Time
	}
)

// A Payment is what the bank's signal holds.
type Payment struct{ Amount int }

// A world is what an order does things to.
type world func(ctx context.Context, what string) (string, error)

// order returns the flow. Each line of it may be the last that a process runs:
// the next one executes the function from its top, and what is on record is
// not done again.
func order(do world, regret time.Duration) *flow.Flow[Order, Receipt] {
	return flow.New("order", func(ctx context.Context, in Order) (Receipt, error) {
		invoice, err := step.Do(ctx, "invoice", func(ctx context.Context) (string, error) {
			return do(ctx, "invoice for a "+in.Item+" with key "+step.Key(ctx))
		})
		if err != nil {
			return Receipt{}, err
		}

		paid, err := step.Signal[Payment](ctx, "paid", step.SignalOptions{Timeout: 14 * 24 * time.Hour})
		if errors.Is(err, posthouse.ErrExpired) {
			_, err = step.Do(ctx, "withdraw", func(ctx context.Context) (string, error) { return do(ctx, "withdraw "+invoice) })
			return Receipt{}, err
		}
		if err != nil {
			return Receipt{}, err // posthouse.ErrWaiting: parked until it comes
		}

		if err := step.Sleep(ctx, "regret", regret); err != nil {
			return Receipt{}, err
		}

		bookings, err := step.Map(ctx, "book", []string{"stock", "courier", "accounts"}, func(ctx context.Context, where string) (string, error) {
			return do(ctx, "book a "+in.Item+" with the "+where)
		}, step.GroupOptions{Concurrency: 2, Options: step.Options{Effect: posthouse.EffectExternal, Retry: posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: 10 * time.Millisecond}}})
		if err != nil {
			return Receipt{}, err
		}

		at, err := step.Now(ctx) // the clock, on record
		return Receipt{Item: in.Item, Paid: paid.Amount, Bookings: bookings, At: at}, err
	})
}

// A shop runs orders over a store.
type shop struct {
	ledger *ledger.Ledger
	app    *flow.App[Order, Receipt]
}

func open(store posthouse.Store, now func() time.Time, do world, regret time.Duration) (*shop, error) {
	led, err := ledger.Open(store, &ledger.Options{Now: now})
	if err != nil {
		return nil, err
	}
	app, err := order(do, regret).Open(led, &flow.Options{HoldFor: -1}) // each wait parks
	if err != nil {
		return nil, errors.Join(err, led.Close())
	}
	return &shop{led, app}, nil
}

// request handles a request, however often it comes: its id is the run's, and
// a run is executed once. The thread is where to find it again.
func (s *shop) request(ctx context.Context, id string, in Order) (*flow.Result[Receipt], error) {
	return s.app.Run(ctx, id, in, flow.RunOptions{Run: id})
}

// paid tells the order that its money is there, at any time. The payment's own id
// makes a message that comes twice one.
func (s *shop) paid(ctx context.Context, id string, payment posthouse.ID, p Payment) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = s.ledger.Signal(ctx, id, posthouse.Signal{ID: payment, Name: "paid", Value: value, By: "bank"})
	return err
}

func run(ctx context.Context, args []string) error {
	store, err := sqlitestore.Open(ctx, filepath.Join(os.TempDir(), "posthouse-flow.db"), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := open(store, time.Now, func(_ context.Context, what string) (string, error) {
		fmt.Println("doing:", what)
		return "no. 1", nil
	}, 10*time.Second)
	if err != nil {
		return err
	}
	defer s.ledger.Close()
	const id = "order-1"
	switch {
	case len(args) == 2 && args[0] == "order":
		out, err := s.request(ctx, id, Order{Item: args[1]})
		if err != nil {
			return err
		}
		fmt.Println(out.Status, waits(out), out.Output)
		return nil
	case len(args) == 1 && args[0] == "paid":
		return s.paid(ctx, id, "payment-77", Payment{Amount: 40})
	}
	return errors.New("usage: flow order ITEM | flow paid")
}

// waits says what a run waits for.
func waits(out *flow.Result[Receipt]) string {
	var names []string
	for _, w := range out.Waiting {
		names = append(names, w.Kind+" "+w.Name)
	}
	return strings.Join(names, ", ")
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
