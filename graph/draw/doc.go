// Package draw writes graphs down as text for Mermaid and Graphviz, and as data for pages.
//
// It draws what package graph exports of a graph: its outline ([graph.App.Shape])
// and, if wanted, how far a thread is in it ([graph.App.Progress]). Routes, maps and
// commands are dashed and labelled; subgraphs are clusters. Names of nodes are escaped,
// so that nothing in a name becomes syntax.
//
//	p, err := app.Progress(ctx, graph.ProgressOptions{Thread: "order-1"})
//	...
//	text := draw.Mermaid(app.Shape(), p, nil)
package draw
