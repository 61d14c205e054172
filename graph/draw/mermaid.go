package draw

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/graph"
)

// The colours of marks: fill and outline.
var markColours = map[graph.Mark][2]string{
	graph.MarkNone: {"#ffffff", "#64748b"}, graph.MarkDone: {"#dcfce7", "#16a34a"}, graph.MarkNext: {"#dbeafe", "#2563eb"},
	graph.MarkWaiting: {"#fef3c7", "#d97706"}, graph.MarkFailed: {"#fee2e2", "#dc2626"},
}

var allMarks = []graph.Mark{graph.MarkDone, graph.MarkNext, graph.MarkWaiting, graph.MarkFailed}

func (d *drawing) mermaid() string {
	var b strings.Builder
	direction := "TD"
	if d.leftRight {
		direction = "LR"
	}
	fmt.Fprintf(&b, "flowchart %s\n", direction)
	d.mermaidBoxes(&b, "  ")
	d.mermaidLines(&b)
	for _, m := range allMarks {
		if ids := d.marked(m); len(ids) > 0 {
			c := markColours[m]
			fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,stroke-width:2px\n  class %s %s\n", m, c[0], c[1], strings.Join(ids, ","), m)
		}
	}
	return b.String()
}

func (d *drawing) mermaidBoxes(b *strings.Builder, indent string) {
	for _, x := range d.boxes {
		name := mermaidText(x.name)
		if x.note != "" {
			name += "<br/>" + mermaidText(x.note)
		}
		switch {
		case x.sub != nil:
			fmt.Fprintf(b, "%ssubgraph n%d[\"%s\"]\n", indent, x.id, name)
			x.sub.mermaidBoxes(b, indent+"  ")
			fmt.Fprintf(b, "%send\n", indent)
		case x.kind == boxStart, x.kind == boxEnd:
			fmt.Fprintf(b, "%sn%d([\"%s\"])\n", indent, x.id, name)
		case x.kind == boxAnywhere:
			fmt.Fprintf(b, "%sn%d((\"?\"))\n", indent, x.id)
		case x.round:
			fmt.Fprintf(b, "%sn%d{{\"%s\"}}\n", indent, x.id, name)
		default:
			fmt.Fprintf(b, "%sn%d[\"%s\"]\n", indent, x.id, name)
		}
	}
}

func (d *drawing) mermaidLines(b *strings.Builder) {
	for _, l := range d.lines {
		arrow := "-->"
		if l.dashed {
			arrow = "-.->"
		}
		if l.label != "" {
			arrow += "|" + l.label + "|"
		}
		fmt.Fprintf(b, "  n%d %s n%d\n", l.from.last().id, arrow, l.to.first().id)
	}
	for _, x := range d.boxes {
		if x.sub != nil {
			x.sub.mermaidLines(b)
		}
	}
}

func (d *drawing) marked(m graph.Mark) (ids []string) {
	for _, x := range d.boxes {
		if x.mark == m {
			ids = append(ids, fmt.Sprint("n", x.id))
		}
		if x.sub != nil {
			ids = append(ids, x.sub.marked(m)...)
		}
	}
	return ids
}

// mermaidText writes all but the plainest characters as entities.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ._-", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
