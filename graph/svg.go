package graph

import (
	"encoding/xml"
	"fmt"
	"strings"
)

func (d *drawing) svg() string {
	tracks, w, h := d.layout()
	w, h = w+2*layoutMargin, h+2*layoutMargin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="13" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", xmlText(d.name))
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#64748b"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", w, h)
	d.svgAt(&b, tracks, layoutMargin, layoutMargin)
	b.WriteString("</svg>\n")
	return b.String()
}

// svgAt writes a drawing that was laid out, moved to a place.
func (d *drawing) svgAt(b *strings.Builder, tracks []track, x, y float64) {
	for _, t := range tracks {
		t.svg(b, x, y)
	}
	for _, n := range d.boxes {
		n.svg(b, x, y)
	}
	for _, t := range tracks {
		t.svgLabel(b, x, y)
	}
}

func (b *box) svg(out *strings.Builder, x, y float64) {
	c := markColours[b.mark]
	left, top, width := x+b.x-b.w/2, y+b.y-b.h/2, 1
	if b.mark != MarkNone {
		width = 2
	}
	if b.sub != nil {
		tracks, w, _ := b.sub.layout()
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="10" fill="#f8fafc" stroke="%s" stroke-width="%d"/>`+"\n", left, top, b.w, b.h, c[1], width)
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" fill="#475569" font-weight="bold">%s</text>`+"\n", left+10, top+17, xmlText(b.name))
		b.sub.svgAt(out, tracks, left+(b.w-w)/2, top+layoutTitle)
		return
	}
	round := 6.0
	if b.kind != boxNode {
		round = b.h / 2
	}
	if b.round {
		fmt.Fprintf(out, `<path d="M%.1f %.1f l10 %.1f h%.1f l10 %.1f l-10 %.1f h%.1f z" fill="%s" stroke="%s" stroke-width="%d"/>`+"\n",
			left, y+b.y, -b.h/2, b.w-20, b.h/2, b.h/2, -(b.w - 20), c[0], c[1], width)
	} else {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.0f" fill="%s" stroke="%s" stroke-width="%d"/>`+"\n",
			left, top, b.w, b.h, round, c[0], c[1], width)
	}
	name, at := b.name, y+b.y+4.5
	if b.kind == boxAnywhere {
		name = "?"
	}
	if b.note != "" {
		at -= 7
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="10" fill="#64748b">%s</text>`+"\n", x+b.x, at+14, xmlText(b.note))
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#0f172a">%s</text>`+"\n", x+b.x, at, xmlText(name))
}

// svg writes a line as curves from layer to layer.
func (t *track) svg(b *strings.Builder, x, y float64) {
	dash := ""
	if t.line.dashed {
		dash = ` stroke-dasharray="5 4"`
	}
	var path strings.Builder
	if t.points == nil {
		n := t.line.from
		right, mid := x+n.x+n.w/2, y+n.y
		fmt.Fprintf(&path, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", right, mid-8, right+layoutLoop*4/3, mid-22, right+layoutLoop*4/3, mid+22, right+1, mid+8)
	} else {
		first, last := t.points[0], t.points[len(t.points)-1]
		px, py := x+first.x+t.out, y+first.y+first.h/2
		fmt.Fprintf(&path, "M%.1f %.1f", px, py)
		for i, p := range t.points[1:] { // it bends between layers only, where no box is
			from, qx, qy := y+t.points[i].bottom, x+p.x, y+p.top
			if i == len(t.points)-2 {
				qx += t.into
			}
			bend := (qy - from) / 2
			fmt.Fprintf(&path, "L%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", px, from, px, from+bend, qx, qy-bend, qx, qy)
			px = qx
		}
		fmt.Fprintf(&path, "L%.1f %.1f", px, y+last.y-last.h/2)
	}
	end := "end"
	if t.back {
		end = "start"
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#64748b" stroke-width="1.3"%s marker-%s="url(#arrow)"/>`+"\n", path.String(), dash, end)
}

// svgLabel writes a line's label near its middle, on a ground of its own.
func (t *track) svgLabel(b *strings.Builder, x, y float64) {
	if t.line.label == "" {
		return
	}
	lx, ly, w := 0.0, 0.0, labelWidth(t.line.label)
	if t.label == nil {
		n := t.line.from
		lx, ly = x+n.x+n.w/2+loopLabel(t.line), y+n.y
	} else {
		lx, ly = x+t.label.x, y+(t.label.top+t.label.bottom)/2
	}
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" rx="3" fill="#ffffff" fill-opacity="0.85"/>`+"\n", lx-w/2, ly-layoutLabel/2, w, layoutLabel)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="10" fill="#475569">%s</text>`+"\n", lx, ly+3.5, xmlText(t.line.label))
}

// xmlText escapes a text; what XML cannot hold becomes a replacement character.
func xmlText(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
