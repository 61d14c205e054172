package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

type report struct {
	Month string
	Lines []string `posthouse:"append"`
}

// reports writes and sends a report.
func reports(auto graph.AutoRelease) *graph.App[report] {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	g := graph.New[report]("reports")
	for _, name := range []string{"write", "send"} {
		g.Node(name, func(_ context.Context, s *report) error {
			s.Lines = append(s.Lines, name+" "+s.Month)
			return nil
		})
	}
	g.Edge(graph.Start, "write")
	g.Edge("write", "send")
	g.Edge("send", graph.End)
	app, err := g.Compile(led, &graph.CompileOptions{Release: auto})
	if err != nil {
		log.Fatal(err)
	}
	return app
}

// Close a thread as a version that stays readable, and start over.
func ExampleApp_Release() {
	ctx := context.Background()
	app := reports(graph.AutoRelease{})
	for _, month := range []string{"May", "June"} {
		if _, err := app.Run(ctx, "report", report{Month: month}); err != nil {
			log.Fatal(err)
		}
		if _, err := app.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{month}, By: "alice"}); err != nil {
			log.Fatal(err)
		}
	}
	may, err := app.Version(ctx, "report", "May")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(may.Version, may.State.State.Lines)
	last, err := app.Version(ctx, "report", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(last.Version, last.State.State.Lines)
	// Output:
	// 1 [write May send May]
	// 2 [write June send June]
}

// Let each run that reaches its end release its thread.
func ExampleAutoRelease() {
	ctx := context.Background()
	app := reports(graph.AutoRelease{Done: true, Tags: []string{"sent"}})
	for _, month := range []string{"May", "June"} {
		out, err := app.Run(ctx, "report", report{Month: month})
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

// Put several steps on record that were taken elsewhere.
func ExampleApp_BulkUpdate() {
	ctx := context.Background()
	app := reports(graph.AutoRelease{})
	if _, err := app.Run(ctx, "report", report{Month: "May"}); err != nil {
		log.Fatal(err)
	}
	last, err := app.BulkUpdate(ctx, "report", [][]graph.NodeUpdate[report]{
		{{Node: graph.Start, Change: func(s *report) { s.Month = "June" }}},
		{{Node: "write", Change: func(s *report) { s.Lines = append(s.Lines, "June by hand") }}},
	}, graph.UpdateOptions{By: "alice"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(last.State.Lines, "next", last.Next)
	// Output: [write May send May June by hand] next [send]
}

// Try something in a copy of a thread, and see what became different.
func ExampleApp_Copy() {
	ctx := context.Background()
	app := reports(graph.AutoRelease{})
	out, err := app.Run(ctx, "report", report{Month: "May"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := app.Copy(ctx, "report", "try", nil); err != nil {
		log.Fatal(err)
	}
	tried, err := app.Run(ctx, "try", report{Month: "June"})
	if err != nil {
		log.Fatal(err)
	}
	d, err := app.Compare(ctx, out.Checkpoint, tried.Checkpoint)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Fields, d.From.State.Month, d.To.State.Month)
	// Output: [Month Lines] May June
}

// Draw a graph, with a thread in it.
func ExampleApp_Progress() {
	ctx := context.Background()
	app := reports(graph.AutoRelease{})
	if _, err := app.Run(ctx, "report", report{Month: "May"}); err != nil {
		log.Fatal(err)
	}
	progress, err := app.Progress(ctx, graph.ProgressOptions{Thread: "report"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(draw.Mermaid(app.Shape(), progress, &draw.Options{LeftRight: true}))
	// Output:
	// flowchart LR
	//   n0(["start"])
	//   n1["write"]
	//   n2["send"]
	//   n3(["end"])
	//   n0 --> n1
	//   n1 --> n2
	//   n2 --> n3
	//   classDef done fill:#dcfce7,stroke:#16a34a,stroke-width:2px
	//   class n1,n2 done
}

// A program in CI does this before a deploy: it opens the store of production,
// asks the new version about every open thread, and fails if one cannot go on.
func ExampleApp_Check() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil) // production's
	if err != nil {
		log.Fatal(err)
	}
	version := func(second string, migrations ...graph.Migration) *graph.App[report] {
		g := graph.New[report]("reports")
		g.Node("write", func(context.Context, *report) error { return nil })
		g.Node(second, func(context.Context, *report) error { return nil }, graph.NodeOptions{InterruptBefore: true})
		g.Edge(graph.Start, "write")
		g.Edge("write", second)
		g.Edge(second, graph.End)
		app, err := g.Compile(led, &graph.CompileOptions{Migrations: migrations})
		if err != nil {
			log.Fatal(err)
		}
		return app
	}
	old := version("send")
	if _, err := old.Run(ctx, "may", report{}); err != nil {
		log.Fatal(err)
	}
	check := func(app *graph.App[report]) (exit int) {
		for f, err := range app.Check(ctx, nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(f.Thread, f.Kind)
			if f.Kind == graph.FindingFails {
				fmt.Println("-", f.Err.Mismatches[0])
				exit = 1
			}
		}
		return exit
	}
	fmt.Println("exit", check(version("publish")))
	fmt.Println("exit", check(version("publish", graph.Migration{
		From: old.Fingerprint(), Nodes: map[string]string{"send": "publish"},
	})))
	// Output:
	// may fails
	// - it goes on at node "send", which is gone
	// exit 1
	// may migrates
	// exit 0
}
