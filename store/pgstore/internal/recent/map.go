// Package recent remembers a bounded number of values by their keys.
package recent

import "sync"

// most is how many values a Map holds. Beyond that it forgets any of them.
const most = 1024

// A Map holds values. It is safe for concurrent use, and its zero value is empty.
type Map[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// Take returns the value of a key, and forgets it.
func (m *Map[K, V]) Take(key K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.all[key]
	delete(m.all, key)
	return v, ok
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[K]V{}
	}
	if _, there := m.all[key]; !there && len(m.all) >= most {
		for other := range m.all {
			delete(m.all, other)
			break
		}
	}
	m.all[key] = v
}
