package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// A run is begun, asks a question, and goes on with the answer.
func Example() {
	c, approver, stop, err := serve()
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	ctx := context.Background()

	run, err := c.Start(ctx, "refund", refund{Account: 9007199254740993}, &client.StartOptions{Thread: "order-1234"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Wait(ctx, run.Thread); err != nil {
		log.Fatal(err)
	}
	for g, err := range c.Gates(ctx, &client.GateQuery{Thread: run.Thread, Everyone: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", g.Intent, g.Payload)
		done, err := approver.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, Shown: g.Hash})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(done.Branched.Status)
		_, err = approver.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Reject})
		var first *posthouse.Error
		if errors.As(err, &first) {
			fmt.Println(first.Code, "by", first.Decision.By)
		}
	}
	// Output:
	// Pay it back? {"account":9007199254740993}
	// done
	// decided by bob
}

// A client reads as it happens what a run changes, and what it says while it works.
func ExampleClient_Events() {
	c, _, stop, err := serve()
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	ctx := context.Background()
	f, err := c.Follow(ctx, &client.EventQuery{Modes: []string{"updates", "messages"}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Start(ctx, "refund", refund{Account: 7}, nil); err != nil {
		log.Fatal(err)
	}
	text, account := "", ""
	for e, err := range f.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Message != nil {
			text = e.Message.Text
		}
		if e.Update != nil && e.Update.Parts["Account"] != nil {
			account = string(e.Update.Parts["Account"])
		}
		if text != "" && account != "" { // the text is not on record: it may be the first of the two
			break
		}
	}
	fmt.Println("account", account)
	fmt.Println(text)
	// Output:
	// account 7
	// thinking
}
