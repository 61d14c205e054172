package draw_test

import (
	"fmt"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
)

// An outline is data: that of a compiled graph is App.Shape.
var outline = &graph.Shape{
	Name: "refund",
	Nodes: []graph.NodeShape{
		{Name: "triage", Kind: "command"},
		{Name: "approve", Kind: "subgraph", Sub: &graph.Shape{
			Name:  "approve",
			Nodes: []graph.NodeShape{{Name: "ask", Kind: "node"}},
			Edges: []graph.EdgeShape{{From: graph.Start, To: "ask", Kind: "edge"}, {From: "ask", To: graph.End, Kind: "edge"}},
		}},
		{Name: "pay", Kind: "task"},
	},
	Edges: []graph.EdgeShape{
		{From: graph.Start, To: "triage", Kind: "edge"}, {From: "triage", To: "", Kind: "command"},
		{From: "approve", To: "pay", Kind: "map"}, {From: "pay", To: graph.End, Kind: "edge"},
	},
}

// Progress comes from App.Progress.
var waiting = graph.Progress{"triage": graph.MarkDone, "approve": graph.MarkWaiting, "approve/ask": graph.MarkWaiting}

func ExampleMermaid() {
	fmt.Print(draw.Mermaid(outline, waiting, nil))
	// Output:
	// flowchart TD
	//   n0(["start"])
	//   n1{{"triage"}}
	//   subgraph n2["approve"]
	//     n3(["start"])
	//     n4["ask"]
	//     n5(["end"])
	//   end
	//   n6["pay<br/>task"]
	//   n7(["end"])
	//   n8(("?"))
	//   n0 --> n1
	//   n1 -.->|command| n8
	//   n5 -.->|map| n6
	//   n6 --> n7
	//   n3 --> n4
	//   n4 --> n5
	//   classDef done fill:#dcfce7,stroke:#16a34a,stroke-width:2px
	//   class n1 done
	//   classDef waiting fill:#fef3c7,stroke:#d97706,stroke-width:2px
	//   class n2,n4 waiting
}

func ExampleDOT() {
	fmt.Print(draw.DOT(outline, waiting, &draw.Options{LeftRight: true}))
	// Output:
	// digraph "refund" {
	//   rankdir=LR;
	//   node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#64748b", fontname="sans-serif"];
	//   edge [color="#64748b", fontname="sans-serif", fontsize=10];
	//   n0 [label="start", shape=oval];
	//   n1 [label="triage", shape=hexagon, style=filled, fillcolor="#dcfce7", color="#16a34a", penwidth=2];
	//   subgraph cluster_2 {
	//     label="approve"; style=rounded; color="#d97706";
	//     n3 [label="start", shape=oval];
	//     n4 [label="ask", fillcolor="#fef3c7", color="#d97706", penwidth=2];
	//     n5 [label="end", shape=oval];
	//   }
	//   n6 [label="pay\ntask"];
	//   n7 [label="end", shape=oval];
	//   n8 [label="?", shape=circle];
	//   n0 -> n1;
	//   n1 -> n8 [style=dashed, label="command"];
	//   n5 -> n6 [style=dashed, label="map"];
	//   n6 -> n7;
	//   n3 -> n4;
	//   n4 -> n5;
	// }
}
