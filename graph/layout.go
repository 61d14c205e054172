package graph

import (
	"cmp"
	"math"
	"slices"
)

// A place is where a layout puts a box: its middle, and its size.
type place struct {
	x, y, w, h   float64
	room         float64 // kept free on either side of it
	layer, order int
	top, bottom  float64 // of its layer
}

// width is what a place takes of its layer.
func (p *place) width() float64 { return p.w + 2*p.room }

// Distances of a layout, in pixels.
const (
	layoutGapX   = 28.0
	layoutGapY   = 52.0
	layoutMargin = 16.0
	layoutTitle  = 24.0 // above the boxes of a subgraph
	layoutSweeps = 12
	layoutLabel  = 14.0 // the height of a label
	layoutPorts  = 16.0 // between lines that are tied to one side of a box
	layoutLoop   = 26.0 // how far a line from a box to itself goes out
)

// A track is the way of a line through the layers: places, the first and last of
// which are boxes.
type track struct {
	line   *line
	points []*place
	back   bool // it runs upwards

	label     *place  // where its label is; nil: it has none, or goes from a box to itself
	out, into float64 // how far from the middle of the first and the last box it is tied
}

// labelWidth is about that of a text in the size of labels.
func labelWidth(s string) float64 { return 6.2*float64(len([]rune(s))) + 6 }

// loopLabel is how far right of its box the middle of a loop's label is.
func loopLabel(l *line) float64 { return layoutLoop*2/3 + labelWidth(l.label)/2 }

// layout places boxes in layers, each below those that lead to it, and returns
// the lines' tracks and the size of the whole.
func (d *drawing) layout() (tracks []track, w, h float64) {
	for _, b := range d.boxes {
		b.size()
	}
	back := d.layers()
	gap := layoutGapY
	if d.between(back) {
		gap /= 2
		for _, b := range d.boxes {
			b.layer *= 2
		}
	}
	count := 0
	for _, b := range d.boxes {
		count = max(count, b.layer+1)
	}
	rows := make([][]*place, count)
	for _, b := range d.boxes {
		rows[b.layer] = append(rows[b.layer], &b.place)
	}
	up, down := map[*place][]*place{}, map[*place][]*place{}
	for i := range d.lines {
		l := &d.lines[i]
		if l.from == l.to {
			l.from.room = max(l.from.room, loopLabel(l)+labelWidth(l.label)/2)
			tracks = append(tracks, track{line: l})
			continue
		}
		t := track{line: l, back: back[i]}
		a, z := l.from, l.to
		if t.back {
			a, z = z, a
		}
		t.points = []*place{&a.place}
		for y := a.layer + 1; y < z.layer; y++ {
			p := &place{layer: y, w: 8}
			rows[y] = append(rows[y], p)
			t.points = append(t.points, p)
		}
		t.points = append(t.points, &z.place)
		if l.label != "" {
			t.label = t.points[len(t.points)/2|1] // in a layer without boxes
			t.label.w, t.label.h = labelWidth(l.label), layoutLabel
		}
		for j := 1; j < len(t.points); j++ {
			p, q := t.points[j-1], t.points[j]
			down[p], up[q] = append(down[p], q), append(up[q], p)
		}
		tracks = append(tracks, t)
	}
	arrange(rows, up, down)
	w, h = settleRows(rows, up, down, gap)
	tie(tracks)
	return tracks, w, h
}

// between reports whether there are layers between those of the boxes, each line
// with a place of its own there: for labels, and for lines that run back.
func (d *drawing) between(back map[int]bool) bool {
	return slices.ContainsFunc(d.lines, func(l line) bool { return l.label != "" && l.from != l.to }) || len(back) > 0
}

// tie spreads the lines that share a side of a box with one that runs back, so
// that a line is told from the one it answers.
func tie(tracks []track) {
	type port struct {
		at  *float64
		dir float64 // where the line goes from here
	}
	type side struct {
		of  *place
		low bool
	}
	ports, mixed := map[side][]port{}, map[side]bool{}
	var sides []side
	add := func(s side, p port, back bool) {
		if len(ports[s]) == 0 {
			sides = append(sides, s)
		}
		ports[s] = append(ports[s], p)
		mixed[s] = mixed[s] || back
	}
	for i := range tracks {
		t := &tracks[i]
		if n := len(t.points); n > 0 {
			add(side{t.points[0], true}, port{&t.out, t.points[1].x}, t.back)
			add(side{t.points[n-1], false}, port{&t.into, t.points[n-2].x}, t.back)
		}
	}
	for _, s := range sides {
		ps := ports[s]
		if !mixed[s] || len(ps) < 2 {
			continue
		}
		slices.SortStableFunc(ps, func(a, b port) int { return cmp.Compare(a.dir, b.dir) })
		step := min(layoutPorts, 0.6*s.of.w/float64(len(ps)-1))
		for i, p := range ps {
			*p.at = (float64(i) - float64(len(ps)-1)/2) * step
		}
	}
}

// size gives a box its size; a subgraph is laid out by itself first.
func (b *box) size() {
	b.place = place{w: max(72, 24+8*float64(max(len([]rune(b.name)), len(b.note)))), h: 36}
	switch {
	case b.sub != nil:
		_, w, h := b.sub.layout()
		b.w, b.h = max(b.w, w+2*layoutMargin), h+layoutTitle+layoutMargin
	case b.kind == boxAnywhere:
		b.w, b.h = 28, 28
	case b.note != "":
		b.h = 46
	case b.kind != boxNode:
		b.w, b.h = 60, 28
	}
}

// layers gives each box a layer below those that lead to it, and tells the lines
// that close a cycle.
func (d *drawing) layers() map[int]bool {
	out := map[*box][]int{}
	for i := range d.lines {
		out[d.lines[i].from] = append(out[d.lines[i].from], i)
	}
	back, state := map[int]bool{}, map[*box]int{}
	var order []*box
	var visit func(*box)
	visit = func(b *box) {
		state[b] = 1
		for _, i := range out[b] {
			switch to := d.lines[i].to; {
			case to == b:
			case state[to] == 1:
				back[i] = true
			case state[to] == 0:
				visit(to)
			}
		}
		state[b] = 2
		order = append(order, b)
	}
	for _, b := range d.boxes {
		if state[b] == 0 {
			visit(b)
		}
	}
	slices.Reverse(order)
	deepest := 0
	for _, b := range order {
		for _, i := range out[b] {
			if to := d.lines[i].to; to != b && !back[i] {
				to.layer = max(to.layer, b.layer+1)
				deepest = max(deepest, to.layer)
			}
		}
	}
	for _, b := range d.boxes {
		if b.kind == boxEnd {
			b.layer = max(deepest, 1)
		}
	}
	return back
}

// arrange orders the places of each layer so that few lines cross.
func arrange(rows [][]*place, up, down map[*place][]*place) {
	number := func(row []*place) {
		for i, p := range row {
			p.order = i
		}
	}
	for _, row := range rows {
		number(row)
	}
	mean := func(p *place, of []*place) float64 {
		if len(of) == 0 {
			return float64(p.order)
		}
		sum := 0
		for _, q := range of {
			sum += q.order
		}
		return float64(sum) / float64(len(of))
	}
	for sweep := range layoutSweeps {
		for i := range rows {
			row, next := rows[i], up
			if sweep%2 == 1 {
				row, next = rows[len(rows)-1-i], down
			}
			slices.SortStableFunc(row, func(a, b *place) int { return cmp.Compare(mean(a, next[a]), mean(b, next[b])) })
			number(row)
		}
	}
}

// settleRows gives places their coordinates, near the places they are tied to.
func settleRows(rows [][]*place, up, down map[*place][]*place, gap float64) (w, h float64) {
	y := 0.0
	for _, row := range rows {
		high := 0.0
		for _, p := range row {
			high = max(high, p.h)
		}
		x := 0.0
		for _, p := range row {
			p.y, p.x, p.top, p.bottom = y+high/2, x+p.width()/2, y, y+high
			x += p.width() + layoutGapX
		}
		y += high + gap
	}
	for sweep := range 2 * layoutSweeps {
		for i := range rows {
			row, next := rows[i], up
			if sweep%2 == 1 {
				row, next = rows[len(rows)-1-i], down
			}
			pull(row, next)
		}
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		for _, p := range row {
			left, right = min(left, p.x-p.width()/2), max(right, p.x+p.width()/2)
		}
	}
	for _, row := range rows {
		for _, p := range row {
			p.x = math.Round(p.x - left)
		}
	}
	return right - left, y - gap
}

// pull moves the places of a row towards those they are tied to, in their order.
func pull(row []*place, tied map[*place][]*place) {
	want := make([]float64, len(row))
	for i, p := range row {
		want[i] = p.x
		if of := tied[p]; len(of) > 0 {
			want[i] = 0
			for _, q := range of {
				want[i] += q.x / float64(len(of))
			}
		}
	}
	// Neighbours that would overlap move as one, to where they are off the least.
	type group struct {
		first, last int
		at, sum     float64
	}
	offset := make([]float64, len(row))
	for i := 1; i < len(row); i++ {
		offset[i] = offset[i-1] + row[i-1].width()/2 + layoutGapX + row[i].width()/2
	}
	var groups []group
	for i := range row {
		g := group{i, i, want[i] - offset[i], want[i] - offset[i]}
		for len(groups) > 0 && groups[len(groups)-1].at > g.at {
			last := groups[len(groups)-1]
			groups = groups[:len(groups)-1]
			g.first, g.sum = last.first, g.sum+last.sum
			g.at = g.sum / float64(g.last-g.first+1)
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		for i := g.first; i <= g.last; i++ {
			row[i].x = g.at + offset[i]
		}
	}
}
