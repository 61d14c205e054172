package ledger_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A rule is what LangGraph4j's documentation builds as a validating saver: it
// looks at each checkpoint before it is written.
func ExampleRule() {
	complete := posthouse.Rule{Name: "complete", Check: func(_ context.Context, p *posthouse.Proposal) error {
		if p.Header == nil {
			return nil // a step's result
		}
		if p.Header.Node == "" {
			return errors.New("a checkpoint must have a node")
		}
		c, err := p.Checkpoint()
		if err == nil && len(c.State) == 0 {
			err = errors.New("a checkpoint must have state data")
		}
		return err
	}}
	led, err := ledger.Open(memstore.New(), &ledger.Options{Rules: []posthouse.Rule{complete}})
	if err != nil {
		panic(err)
	}
	c := posthouse.Root("order-1234", nil)
	c.Node = "analyze"
	_, err = led.Save(context.Background(), c, nil)
	fmt.Println(errors.Is(err, posthouse.ErrInvalid), err)
	c.State, _ = posthouse.Opaque(nil, "refund order 1234")
	_, err = led.Save(context.Background(), c, nil)
	fmt.Println(err)
	// Output:
	// true posthouse: rule complete refuses a commit to branch main of thread order-1234: a checkpoint must have state data (nothing was written)
	// <nil>
}
