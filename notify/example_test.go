package notify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/store/memstore"
)

// A printer is a channel to standard output.
type printer struct{ told chan struct{} }

func (printer) Kind() string    { return "printer" }
func (printer) Address() string { return "stdout" }

func (p printer) Deliver(_ context.Context, m *notify.Message) error {
	fmt.Println(m.Event.Type, m.Event.Data.Gate.Intent)
	p.told <- struct{}{}
	return nil
}

// Questions about refunds are printed, with a channel of one's own.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	told := make(chan struct{})
	n, err := notify.New(led, []notify.Endpoint{{Name: "desk", Channel: printer{told}, Rule: notify.Rule{Gates: []string{"refund*"}}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()
	for started := false; !started; { // an endpoint that is new begins with what happens from then on
		all, err := n.List(ctx)
		if err != nil {
			log.Fatal(err)
		}
		started = all[0].State != notify.StateNew
	}

	_, err = led.Commit(ctx, &ledger.Draft{
		Thread: "order-7", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "lunch", Text: "Pizza?"}, {Name: "refund", Text: "Refund order 7?"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	<-told
	cancel()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	// Output:
	// gate.opened Refund order 7?
}
