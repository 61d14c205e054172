package runner_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// A job that a timer starts moves what there is to move, and ends.
func ExampleRunner_Settle() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	app, err := flow.New("greet", func(_ context.Context, name string) (string, error) { return "hello " + name, nil }).Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"ann", "bob"} {
		if _, err := app.StartJSON(ctx, name, []byte(`"`+name+`"`), nil); err != nil { // nothing runs yet
			fmt.Println(err)
			return
		}
	}
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	if err == nil {
		err = r.Settle(ctx)
	}
	for _, name := range []string{"ann", "bob"} {
		out, err := app.Result(ctx, name)
		fmt.Println(out.Status, out.Output, err)
	}
	fmt.Println(err)
	// Output:
	// done hello ann <nil>
	// done hello bob <nil>
	// <nil>
}
