package graph

// A Mean is a running average: what parallel tasks add to it is merged exactly,
// each value once. The zero Mean is empty.
type Mean struct {
	Sum   float64 `json:"sum"`
	Count int64   `json:"count"`
}

// Add adds a value.
func (m *Mean) Add(v float64) { m.Sum, m.Count = m.Sum+v, m.Count+1 }

// Value returns the average, 0 of nothing.
func (m Mean) Value() float64 {
	if m.Count == 0 {
		return 0
	}
	return m.Sum / float64(m.Count)
}
