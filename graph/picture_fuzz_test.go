package graph

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
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
		shape := func(name string) *Shape {
			return &Shape{Name: name, Nodes: []NodeShape{
				{Name: name, Kind: "task"}, {Name: "sub:" + label, Sub: &Shape{Name: label, Nodes: []NodeShape{{Name: label}}, Edges: []EdgeShape{{Start, End, "edge"}}}},
			}, Edges: []EdgeShape{{Start, name, "edge"}, {name, End, "route"}, {name, "sub:" + label, "route"}, {name, name, "edge"}}}
		}
		draw := func(s *Shape) *drawing {
			n := 0
			return newDrawing(s, "", map[string]Mark{spelled(name): MarkDone}, &n)
		}
		lines := func(s string) int { return strings.Count(s, "\n") }
		plain := draw(shape("plain-name"))
		ours := func() *drawing { return draw(shape(name)) }
		if name == Start || name == End || name == "sub:"+label {
			return
		}
		m := ours().mermaid()
		for _, l := range strings.Split(m, "\n") {
			if strings.Count(l, `"`)%2 != 0 || strings.Count(l, `"`) > 2 {
				t.Fatalf("a name leaves its quotes: %q", l)
			}
		}
		if have, want := lines(m), lines(plain.mermaid())+2; have != want { // the mark
			t.Fatalf("%d lines, want %d:\n%s", have, want, m)
		}
		if have, want := lines(ours().dot()), lines(plain.dot()); have != want {
			t.Fatalf("%d lines of DOT, want %d", have, want)
		}
		elements := func(svg string) (n int) {
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				tok, err := d.Token()
				if errors.Is(err, io.EOF) {
					return n
				}
				if err != nil {
					t.Fatalf("%v in %q", err, svg)
				}
				if _, ok := tok.(xml.StartElement); ok {
					n++
				}
			}
		}
		if have, want := elements(ours().svg()), elements(plain.svg()); have != want {
			t.Fatalf("%d elements of SVG, want %d", have, want)
		}
	})
}
