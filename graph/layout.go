package graph

import (
	"cmp"
	"math"
	"slices"
)

// A place is where a layout puts a box: its middle, and its size.
type place struct {
	x, y, w, h   float64
	layer, order int
	top, bottom  float64 // of its layer
}

// Distances of a layout, in pixels.
const (
	layoutGapX   = 28.0
	layoutGapY   = 52.0
	layoutMargin = 16.0
	layoutTitle  = 24.0 // above the boxes of a subgraph
	layoutSweeps = 12
)

// A track is the way of a line through the layers: places, the first and last of
// which are boxes.
type track struct {
	line   *line
	points []*place
	back   bool // it runs upwards
}

// layout places boxes in layers, each below those that lead to it, and returns
// the lines' tracks and the size of the whole.
func (d *drawing) layout() (tracks []track, w, h float64) {
	for _, b := range d.boxes {
		b.size()
	}
	back := d.layers()
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
		for j := 1; j < len(t.points); j++ {
			p, q := t.points[j-1], t.points[j]
			down[p], up[q] = append(down[p], q), append(up[q], p)
		}
		tracks = append(tracks, t)
	}
	arrange(rows, up, down)
	w, h = settleRows(rows, up, down)
	return tracks, w, h
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
func settleRows(rows [][]*place, up, down map[*place][]*place) (w, h float64) {
	y := 0.0
	for _, row := range rows {
		high := 0.0
		for _, p := range row {
			high = max(high, p.h)
		}
		x := 0.0
		for _, p := range row {
			p.y, p.x, p.top, p.bottom = y+high/2, x+p.w/2, y, y+high
			x += p.w + layoutGapX
		}
		y += high + layoutGapY
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
			left, right = min(left, p.x-p.w/2), max(right, p.x+p.w/2)
		}
	}
	for _, row := range rows {
		for _, p := range row {
			p.x = math.Round(p.x - left)
		}
	}
	return right - left, y - layoutGapY
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
		offset[i] = offset[i-1] + row[i-1].w/2 + layoutGapX + row[i].w/2
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
