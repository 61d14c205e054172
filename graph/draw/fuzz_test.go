package draw

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// FuzzPicture draws nodes of any name: nothing of a name becomes syntax.
func FuzzPicture(f *testing.F) {
	for _, s := range []string{"plain", `"]; click n0 "javascript:x"`, "</text><script>x</script>", "a\nb --> c", `\" ]`, "\x00\xff", "#quot;", "&amp;", "%%{init}%%", "é世"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, label string) {
		if name == "" || len(name)+len(label) > 400 {
			return
		}
		shape := func(name string) *graph.Shape {
			return &graph.Shape{Name: name, Nodes: []graph.NodeShape{
				{Name: name, Kind: "remote", Remote: label}, {Name: "sub:" + label, Sub: &graph.Shape{Name: label, Nodes: []graph.NodeShape{{Name: label}}, Edges: []graph.EdgeShape{{From: graph.Start, To: graph.End, Kind: "edge"}}}},
			}, Edges: []graph.EdgeShape{{From: graph.Start, To: name, Kind: "edge"}, {From: name, To: graph.End, Kind: "route"}, {From: name, To: "sub:" + label, Kind: "route"}, {From: name, To: name, Kind: "edge"}}}
		}
		done := graph.Progress{posthouse.EscapeName(name): graph.MarkDone}
		lines := func(s string) int { return strings.Count(s, "\n") }
		plain := shape("plain-name")
		if name == graph.Start || name == graph.End || name == "sub:"+label {
			return
		}
		m := Mermaid(shape(name), done, nil)
		for _, l := range strings.Split(m, "\n") {
			if strings.Count(l, `"`)%2 != 0 || strings.Count(l, `"`) > 2 {
				t.Fatalf("a name leaves its quotes: %q", l)
			}
		}
		if have, want := lines(m), lines(Mermaid(plain, done, nil))+2; have != want { // the mark
			t.Fatalf("%d lines, want %d:\n%s", have, want, m)
		}
		if have, want := lines(DOT(shape(name), done, nil)), lines(DOT(plain, done, nil)); have != want {
			t.Fatalf("%d lines of DOT, want %d", have, want)
		}
	})
}
