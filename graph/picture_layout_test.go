package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A rect is a rectangle of a picture.
type rect struct{ x, y, w, h float64 }

func (r rect) cuts(o rect) bool {
	return r.x < o.x+o.w && o.x < r.x+r.w && r.y < o.y+o.h && o.y < r.y+r.h
}

func (r rect) within(o rect) bool {
	return r.x >= o.x && r.y >= o.y && r.x+r.w <= o.x+o.w && r.y+r.h <= o.y+o.h
}

// A seen is what a reader of an SVG has before them.
type seen struct {
	labels, boxes []rect
	page          rect
	forth, back   [][][2]float64 // points of the lines, in the order of the boxes
}

var (
	rectPattern = regexp.MustCompile(`<rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)" rx="(\d+)"`)
	pathPattern = regexp.MustCompile(`<path d="([^"]+)" fill="none"[^>]* marker-(start|end)=`)
	pagePattern = regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`)
	numbers     = regexp.MustCompile(`-?[\d.]+`)
)

func look(t testing.TB, svg string) (s seen) {
	t.Helper()
	float := func(v string) float64 {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, m := range rectPattern.FindAllStringSubmatch(svg, -1) {
		r := rect{float(m[1]), float(m[2]), float(m[3]), float(m[4])}
		switch m[5] {
		case "3":
			s.labels = append(s.labels, r)
		case "10": // around a subgraph: lines of its own are within
		default:
			s.boxes = append(s.boxes, r)
		}
	}
	for _, m := range pathPattern.FindAllStringSubmatch(svg, -1) {
		if m[2] == "start" {
			s.back = append(s.back, sample(t, m[1], float))
		} else {
			s.forth = append(s.forth, sample(t, m[1], float))
		}
	}
	m := pagePattern.FindStringSubmatch(svg)
	s.page = rect{0, 0, float(m[1]), float(m[2])}
	return s
}

// sample returns points of a path of the commands M, L and C.
func sample(t testing.TB, d string, float func(string) float64) (points [][2]float64) {
	t.Helper()
	for _, c := range regexp.MustCompile(`[MLC][^MLC]*`).FindAllString(d, -1) {
		var v []float64
		for _, n := range numbers.FindAllString(c[1:], -1) {
			v = append(v, float(n))
		}
		if c[0] != 'C' {
			points = append(points, [2]float64{v[0], v[1]})
			continue
		}
		from := points[len(points)-1]
		for i := 1; i <= 20; i++ {
			u := float64(i) / 20
			a, b, e, f := (1-u)*(1-u)*(1-u), 3*(1-u)*(1-u)*u, 3*(1-u)*u*u, u*u*u
			points = append(points, [2]float64{a*from[0] + b*v[0] + e*v[2] + f*v[4], a*from[1] + b*v[1] + e*v[3] + f*v[5]})
		}
	}
	return points
}

// check looks for what cannot be read in a picture.
func (s seen) check(t testing.TB) {
	t.Helper()
	for i, l := range s.labels {
		for _, o := range s.labels[:i] {
			if l.cuts(o) {
				t.Errorf("labels %v and %v are over each other", l, o)
			}
		}
		for _, b := range s.boxes {
			if l.cuts(b) {
				t.Errorf("label %v is over box %v", l, b)
			}
		}
		if !l.within(s.page) {
			t.Errorf("label %v is off the page %v", l, s.page)
		}
	}
	for _, b := range s.back {
		for _, f := range s.forth {
			if apart := gap(f, b); apart < layoutPorts-1 {
				t.Errorf("a line back is nowhere more than %.0f pixels off one that runs forward", apart)
			}
			if b[0] == f[0] || b[len(b)-1] == f[len(f)-1] {
				t.Errorf("a line back is tied where one forward is, at %v or %v", b[0], b[len(b)-1])
			}
		}
	}
	for _, line := range append(s.forth, s.back...) {
		for _, p := range line {
			if !(rect{p[0], p[1], 0, 0}).within(s.page) {
				t.Errorf("a line leaves the page %v at %v", s.page, p)
				break
			}
		}
	}
}

// gap is how far the first line gets from the second.
func gap(a, b [][2]float64) (most float64) {
	for _, p := range a {
		least := math.Inf(1)
		for _, q := range b {
			least = min(least, math.Hypot(p[0]-q[0], p[1]-q[1]))
		}
		most = max(most, least)
	}
	return most
}

func picture(t testing.TB, name string, s *Shape) seen {
	t.Helper()
	n := 0
	svg := newDrawing(s, "", nil, &n).svg()
	if dir := os.Getenv("PICTURES"); dir != "" {
		if err := os.WriteFile(dir+"/"+name+".svg", []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	seen := look(t, svg)
	seen.check(t)
	if t.Failed() {
		t.Logf("%+v", s)
	}
	return seen
}

// A review that sends back what it does not like: the way back is another.
func TestPictureOfAWayBack(t *testing.T) {
	s := picture(t, "review", &Shape{Name: "review", Nodes: []NodeShape{{Name: "draft"}, {Name: "review"}, {Name: "publish"}}, Edges: []EdgeShape{
		{Start, "draft", "edge"}, {"draft", "review", "edge"}, {"review", "draft", "route"}, {"review", "publish", "route"},
		{"review", "review", "route"}, {"publish", End, "edge"}, {"publish", "draft", "error"},
	}})
	if len(s.back) != 2 || len(s.labels) != 4 || len(s.boxes) != 5 {
		t.Errorf("%d lines back, %d labels, %d boxes", len(s.back), len(s.labels), len(s.boxes))
	}
}

// Whatever a graph is, what is written on its lines can be read.
func TestPicturesCanBeRead(t *testing.T) {
	kinds := []string{"edge", "edge", "route", "routes", "map", "join", "command", "error"}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var shape func(depth int) *Shape
		shape = func(depth int) *Shape {
			s := &Shape{Name: "random"}
			names := []string{}
			for i := range 1 + rnd.IntN(8) {
				n := NodeShape{Name: strings.Repeat("n", 1+rnd.IntN(12)) + fmt.Sprint(i)}
				if depth > 0 && rnd.IntN(6) == 0 {
					n.Sub = shape(depth - 1)
				}
				s.Nodes, names = append(s.Nodes, n), append(names, n.Name)
			}
			s.Edges = []EdgeShape{{Start, names[0], "edge"}, {names[len(names)-1], End, "edge"}}
			drawn := map[[2]string]bool{}
			for range rnd.IntN(3 * len(names)) {
				e := EdgeShape{names[rnd.IntN(len(names))], names[rnd.IntN(len(names))], kinds[rnd.IntN(len(kinds))]}
				if pair := [2]string{e.From, e.To}; !drawn[pair] {
					drawn[pair] = true
					s.Edges = append(s.Edges, e)
				}
			}
			return s
		}
		if picture(t, fmt.Sprint("random-", seed%4), shape(2)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
