package draw

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/graph"
)

func (d *drawing) dot() string {
	var b strings.Builder
	direction := "TB"
	if d.leftRight {
		direction = "LR"
	}
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=%s;\n", dotText(d.name), direction)
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", color=\"#64748b\", fontname=\"sans-serif\"];\n")
	b.WriteString("  edge [color=\"#64748b\", fontname=\"sans-serif\", fontsize=10];\n")
	d.dotBoxes(&b, "  ")
	d.dotLines(&b)
	b.WriteString("}\n")
	return b.String()
}

func (d *drawing) dotBoxes(b *strings.Builder, indent string) {
	for _, x := range d.boxes {
		c := markColours[x.mark]
		if x.sub != nil {
			fmt.Fprintf(b, "%ssubgraph cluster_%d {\n%s  label=%s; style=rounded; color=%q;\n", indent, x.id, indent, dotText(x.name), c[1])
			x.sub.dotBoxes(b, indent+"  ")
			fmt.Fprintf(b, "%s}\n", indent)
			continue
		}
		label, more := x.name, ""
		if x.note != "" {
			label += "\n" + x.note
		}
		switch {
		case x.kind == boxStart, x.kind == boxEnd:
			more = ", shape=oval"
		case x.kind == boxAnywhere:
			label, more = "?", ", shape=circle"
		case x.round:
			more = ", shape=hexagon, style=filled"
		}
		if x.mark != graph.MarkNone {
			more += fmt.Sprintf(", fillcolor=%q, color=%q, penwidth=2", c[0], c[1])
		}
		fmt.Fprintf(b, "%sn%d [label=%s%s];\n", indent, x.id, dotText(label), more)
	}
}

func (d *drawing) dotLines(b *strings.Builder) {
	for _, l := range d.lines {
		var attrs []string
		if l.dashed {
			attrs = append(attrs, "style=dashed")
		}
		if l.label != "" {
			attrs = append(attrs, "label="+dotText(l.label))
		}
		more := ""
		if len(attrs) > 0 {
			more = " [" + strings.Join(attrs, ", ") + "]"
		}
		fmt.Fprintf(b, "  n%d -> n%d%s;\n", l.from.last().id, l.to.first().id, more)
	}
	for _, x := range d.boxes {
		if x.sub != nil {
			x.sub.dotLines(b)
		}
	}
}

// dotText quotes a text, so that Graphviz reads no escape and no HTML in it.
func dotText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
