package natstask

import "testing"

// A large request takes the places of several small ones: what one worker sends at once takes a
// bounded part of the memory of all.
func TestLargeRequestsTakeSeveralPlaces(t *testing.T) {
	p := newPlaces(maxOthers, maxShare)
	sent := 0
	for p.take("w1", placesOf(1<<20)) {
		sent++
	}
	if sent == 0 || sent<<20 > maxShare*placeSize {
		t.Errorf("a worker has %d requests of 1 MiB in work", sent)
	}
	if !p.take("w2", placesOf(1<<20)) {
		t.Error("its requests take the places of others")
	}
	for range sent {
		p.leave("w1", placesOf(1<<20))
	}
	p.leave("w2", placesOf(1<<20))
	if p.taken != 0 || len(p.by) != 0 {
		t.Errorf("%d places of %v stay taken", p.taken, p.by)
	}
}
