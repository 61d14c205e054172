package flow_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A model's answer is read word by word, and each step as it goes on record.
func ExampleApp_Stream() {
	led, _ := ledger.Open(memstore.New(), nil)
	defer led.Close()
	app, _ := flow.New("ask", func(ctx context.Context, question string) (string, error) {
		found, err := step.Do(ctx, "search", func(ctx context.Context) (int, error) {
			step.Emit(ctx, "looking for "+question)
			return 3, nil
		})
		if err != nil {
			return "", err
		}
		return step.Do(ctx, "llm", func(ctx context.Context) (string, error) {
			answer := ""
			for _, word := range []string{"It ", "depends."} {
				step.Token(ctx, word)
				answer += word
			}
			return fmt.Sprintf("%s (%d sources)", answer, found), nil
		})
	}).Open(led, nil)

	o := flow.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamCustom, runs.StreamUpdates}}
	for e, err := range app.Stream(context.Background(), "chat-1", "truth", o) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e.Kind {
		case runs.EventMessage:
			fmt.Printf("%s says %q\n", e.Node, e.Text)
		case runs.EventCustom:
			fmt.Println(e.Node, "reports", e.Value)
		case runs.EventUpdate:
			for _, v := range e.Updates {
				fmt.Printf("%s is on record: %s\n", e.Node, v.Data)
			}
		case runs.EventEnd:
			fmt.Println("the end:", e.Output)
		}
	}
	// Output:
	// search reports looking for truth
	// search is on record: 3
	// llm says "It "
	// llm says "depends."
	// llm is on record: "It depends. (3 sources)"
	// ask is on record: "It depends. (3 sources)"
	// the end: It depends. (3 sources)
}

// answering is a flow that answers messages; about a hello it never makes up its
// mind.
func answering() (*flow.App[string, string], chan string, func()) {
	thinks := make(chan string, 2)
	led, _ := ledger.Open(memstore.New(), nil)
	app, _ := flow.New("chat", func(ctx context.Context, message string) (string, error) {
		return step.Do(ctx, "answer", func(ctx context.Context) (string, error) {
			thinks <- message
			if message == "hello" {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "answered " + message, nil
		})
	}).Open(led, nil)
	return app, thinks, func() { led.Close() }
}

// A run in the background is cancelled; the thread takes a new input.
func ExampleApp_Start() {
	ctx := context.Background()
	app, thinks, stop := answering()
	defer stop()

	h, err := app.Start(ctx, "chat-1", "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	<-thinks
	h.Cancel(ctx, "the user pressed stop")
	out, err := h.Result()
	fmt.Println(h.Reason(), out.Status, err)

	out, err = app.Run(ctx, "chat-1", "bye")
	fmt.Println(out.Output, err)
	// Output:
	// cancelled cancelled <nil>
	// answered bye <nil>
}

// A second message comes while the first is being answered, and takes its place.
func ExampleInterrupt() {
	ctx := context.Background()
	app, thinks, stop := answering()
	defer stop()

	first, _ := app.Start(ctx, "chat-1", "hello")
	<-thinks
	out, err := app.Run(ctx, "chat-1", "never mind", flow.RunOptions{OnBusy: runs.Interrupt})
	fmt.Println(out.Output, err)
	_, err = first.Result()
	fmt.Println(first.Reason(), err)
	// Output:
	// answered never mind <nil>
	// cancelled <nil>
}
