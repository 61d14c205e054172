package inbox

import (
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// A way is what the first checkpoint of a fork or a copy has of its source, and lists find it by. The zero
// way is to look among the newest threads.
type way struct{ run, coordination, label, value, node, agent string }

// waysTo returns the ways to what was made of a checkpoint. One that was saved by hand has no run: a fork may have
// been given other labels, so that the newest threads are looked at, too.
func waysTo(h *posthouse.Header) []way {
	switch {
	case h.Run != "":
		return []way{{run: h.Run}}
	case h.Coordination != "" && h.Coordination != h.Thread:
		return []way{{coordination: h.Coordination}, {}}
	case len(h.Labels) > 0:
		first := slices.Min(slices.Collect(maps.Keys(h.Labels)))
		return []way{{label: first, value: h.Labels[first]}, {}}
	case h.Node != "":
		return []way{{node: h.Node}, {}}
	case h.Agent != "":
		return []way{{agent: h.Agent}, {}}
	}
	return []way{{}}
}

func (w *way) query() posthouse.Query {
	return posthouse.Query{
		Run: w.run, Coordination: w.coordination, Label: w.label, LabelValue: w.value, Node: w.node, Agent: w.agent,
		Descending: true, Limit: maxWayLook,
	}
}

// maxNewest is how many of the newest open gates, and of the threads with the newest entries, are looked at.
const maxNewest = 100

// newest are the forks and copies among the newest threads, by the thread that they were made of.
type newest struct {
	of   map[string][]string
	seen map[string]bool
}

// newestForks looks for forks and copies among the newest threads, and has those of the known ones visited.
func (f *family) newestForks() error {
	f.forks = newest{map[string][]string{}, map[string]bool{}}
	for _, q := range []posthouse.ThreadQuery{{Gates: true, People: true, Descending: true}, {Newest: true, Limit: maxNewest}} {
		looked := 0
		for t, err := range f.l.Threads(f.ctx, q) {
			if err != nil {
				return err
			}
			if looked++; looked > maxNewest {
				break
			}
			if err := f.born(t.Thread); err != nil {
				return err
			}
		}
	}
	for _, known := range slices.Sorted(maps.Keys(f.seen)) {
		f.add(f.forks.of[known])
	}
	return nil
}

// born notes what a thread was made of: its first checkpoint says so.
func (f *family) born(thread string) error {
	if f.forks.seen[thread] {
		return nil
	}
	f.forks.seen[thread] = true
	for h, err := range f.l.List(f.ctx, posthouse.Query{Thread: thread, Limit: 1}) {
		if gone(err) || unread(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Source != nil && h.Source.Thread != thread {
			f.forks.of[h.Source.Thread] = append(f.forks.of[h.Source.Thread], thread)
		}
	}
	return nil
}
