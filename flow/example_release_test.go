package flow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// reports writes and sends the report of a month.
func reports(auto flow.AutoRelease) *flow.App[string, []string] {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	f := flow.New("reports", func(ctx context.Context, month string) (lines []string, err error) {
		for _, name := range []string{"write", "send"} {
			line, err := step.Do(ctx, name, func(context.Context) (string, error) { return name + " " + month, nil })
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		return lines, nil
	})
	app, err := f.Open(led, &flow.Options{Release: auto})
	if err != nil {
		log.Fatal(err)
	}
	return app
}

// Close a thread as a version that stays readable, and start over.
func ExampleApp_Release() {
	ctx := context.Background()
	app := reports(flow.AutoRelease{})
	for _, month := range []string{"May", "June"} {
		if _, err := app.Run(ctx, "report", month); err != nil {
			log.Fatal(err)
		}
		if _, err := app.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{month}, By: "alice"}); err != nil {
			log.Fatal(err)
		}
	}
	for _, version := range []string{"May", ""} { // "" is the last
		v, err := app.Version(ctx, "report", version)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Version, v.State.Output)
	}
	for s, err := range app.History(ctx, "report", flow.HistoryOptions{Version: 1, Kind: posthouse.KindEvent, Oldest: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Node, s.Input)
	}
	// Output:
	// 1 [write May send May]
	// 2 [write June send June]
	// write May
	// send May
}

// Let each run that is done release its thread.
func ExampleAutoRelease() {
	ctx := context.Background()
	app := reports(flow.AutoRelease{Done: true, Tags: []string{"sent"}})
	for _, month := range []string{"May", "June"} {
		out, err := app.Run(ctx, "report", month)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out.Status, "as version", out.Release.Version)
	}
	for v, err := range app.Versions(ctx, "report") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Version, v.Tags)
	}
	// Output:
	// done as version 1
	// done as version 2
	// 2 [sent]
	// 1 [sent]
}

// Try something in a copy of a thread, and see what became different.
func ExampleApp_Copy() {
	ctx := context.Background()
	app := reports(flow.AutoRelease{})
	out, err := app.Run(ctx, "report", "May")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := app.Copy(ctx, "report", "try", nil); err != nil {
		log.Fatal(err)
	}
	tried, err := app.Run(ctx, "try", "June")
	if err != nil {
		log.Fatal(err)
	}
	d, err := app.Compare(ctx, out.Checkpoint, tried.Checkpoint)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.From.Input, d.To.Input)
	for _, p := range d.Parts {
		for _, c := range p.Paths {
			fmt.Printf("%s%s: %s, %s\n", p.Name, c.Path, c.A, c.B)
		}
	}
	// Output:
	// May June
	// input: "May", "June"
	// output/0: "write May", "write June"
	// output/1: "send May", "send June"
}
