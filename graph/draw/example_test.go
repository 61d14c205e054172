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
		{Name: "scan", Kind: "remote", Remote: "ocr"},
		{Name: "approve", Kind: "subgraph", Sub: &graph.Shape{
			Name:  "approve",
			Nodes: []graph.NodeShape{{Name: "ask", Kind: "node"}},
			Edges: []graph.EdgeShape{{From: graph.Start, To: "ask", Kind: "edge"}, {From: "ask", To: graph.End, Kind: "edge"}},
		}},
		{Name: "pay", Kind: "task"},
	},
	Edges: []graph.EdgeShape{
		{From: graph.Start, To: "triage", Kind: "edge"}, {From: "triage", To: "", Kind: "command"},
		{From: graph.Start, To: "scan", Kind: "edge"}, {From: "scan", To: graph.End, Kind: "edge"},
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
	//   n2["scan<br/>remote ocr"]
	//   subgraph n3["approve"]
	//     n4(["start"])
	//     n5["ask"]
	//     n6(["end"])
	//   end
	//   n7["pay<br/>task"]
	//   n8(["end"])
	//   n9(("?"))
	//   n0 --> n1
	//   n1 -.->|command| n9
	//   n0 --> n2
	//   n2 --> n8
	//   n6 -.->|map| n7
	//   n7 --> n8
	//   n4 --> n5
	//   n5 --> n6
	//   classDef done fill:#dcfce7,stroke:#16a34a,stroke-width:2px
	//   class n1 done
	//   classDef waiting fill:#fef3c7,stroke:#d97706,stroke-width:2px
	//   class n3,n5 waiting
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
	//   n2 [label="scan\nremote ocr"];
	//   subgraph cluster_3 {
	//     label="approve"; style=rounded; color="#d97706";
	//     n4 [label="start", shape=oval];
	//     n5 [label="ask", fillcolor="#fef3c7", color="#d97706", penwidth=2];
	//     n6 [label="end", shape=oval];
	//   }
	//   n7 [label="pay\ntask"];
	//   n8 [label="end", shape=oval];
	//   n9 [label="?", shape=circle];
	//   n0 -> n1;
	//   n1 -> n9 [style=dashed, label="command"];
	//   n0 -> n2;
	//   n2 -> n8;
	//   n6 -> n7 [style=dashed, label="map"];
	//   n7 -> n8;
	//   n4 -> n5;
	//   n5 -> n6;
	// }
}

// A node has the name that checkpoints have for it.
func ExampleOutline() {
	g := draw.Outline(outline)
	for _, n := range g.Nodes {
		fmt.Println(n.ID, n.Kind)
	}
	fmt.Println(g.Edges[1], g.Edges[4])
	// Output:
	// >start start
	// triage command
	// scan remote
	// approve subgraph
	// approve/>start start
	// approve/ask node
	// approve/>end end
	// pay task
	// >end end
	// triage>anywhere anywhere
	// {approve/ask approve/>end } {>start scan }
}
