package prom

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Other is the value of a label for all that came once a family was full.
const Other = "other"

// maxNames bounds how many values the first label of [Counts] has.
const maxNames = 100

// maxLabels is how many labels [Counts] may have.
const maxLabels = 3

// Counts count by the values of labels. The first label may be a name that people or programs
// make up: its first 100 values are kept, and all others count as [Other]. The values of the
// other labels must be few. Make them with [NewCounts].
type Counts struct {
	labels []string

	mu    sync.Mutex
	names map[string]bool // values of the first label
	by    map[[maxLabels]string]uint64
}

// NewCounts returns Counts by at most three labels.
func NewCounts(labels ...string) *Counts {
	return &Counts{labels: labels, names: map[string]bool{}, by: map[[maxLabels]string]uint64{}}
}

// Add counts n more for the values of the labels. It returns the value of the first label that
// they count for: the name, or [Other].
func (c *Counts) Add(n uint64, values ...string) string {
	var key [maxLabels]string
	for i, v := range values {
		key[i] = clean(v) // two texts that are written alike are one series
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.names[key[0]] {
		if len(c.names) == maxNames {
			key[0] = Other
		} else {
			c.names[strings.Clone(key[0])] = true
		}
	}
	c.by[key] += n
	return key[0]
}

// Names returns the values of the first label, in their order.
func (c *Counts) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[string]bool{}
	for k := range c.by {
		seen[k[0]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Write writes the counts as a family, ordered by their labels.
func (c *Counts) Write(t *Text, name string, kind Kind, help string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([][maxLabels]string, 0, len(c.by))
	for k := range c.by {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [maxLabels]string) int { return slices.Compare(a[:], b[:]) })
	f := t.Family(name, kind, help)
	labels := make([]string, 0, 2*maxLabels)
	for _, k := range keys {
		labels = labels[:0]
		for i, l := range c.labels {
			labels = append(labels, l, k[i])
		}
		f.Sample(float64(c.by[k]), labels...)
	}
}
