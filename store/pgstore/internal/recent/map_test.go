package recent_test

import (
	"testing"

	"github.com/posthouse/posthouse/store/pgstore/internal/recent"
)

func TestMapIsBounded(t *testing.T) {
	var m recent.Map[int, int]
	for i := range 5000 {
		m.Put(i, 2*i)
		m.Put(i, 3*i)
	}
	held := 0
	for i := range 5000 {
		if v, ok := m.Take(i); ok {
			held++
			if v != 3*i {
				t.Errorf("key %d has %d, want %d", i, v, 3*i)
			}
		}
		if _, ok := m.Take(i); ok {
			t.Errorf("key %d is there after it was taken", i)
		}
	}
	if held != 1024 {
		t.Errorf("it holds %d values, want 1024", held)
	}
	if _, ok := m.Take(4999); ok {
		t.Error("a value is there after all were taken")
	}
}
