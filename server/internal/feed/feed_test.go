package feed

import (
	"strings"
	"testing"
)

// TestFeedIsBounded keeps the newest frames of few bytes, the last one always,
// and counts what it does not keep.
func TestFeedIsBounded(t *testing.T) {
	f := New("r")
	text := strings.Repeat("x", maxSize/4)
	for range 10 {
		f.Text(text)
	}
	frames, missed, _ := f.after(0)
	if len(frames) != 4 || missed != 6 || frames[0].N != 7 {
		t.Errorf("%d frames are kept, %d are missed", len(frames), missed)
	}
	frames, missed, _ = f.after(8)
	if len(frames) != 2 || missed != 0 || frames[0].N != 9 {
		t.Errorf("after the eighth there are %d, %d are missed", len(frames), missed)
	}
	f.Send("reply", nil, 5*len(text))
	frames, missed, _ = f.after(10)
	if len(frames) != 1 || missed != 0 || !f.over(11) || f.over(10) {
		t.Errorf("the end is %d frames, %d are missed", len(frames), missed)
	}
	if frames, _, more := f.after(11); len(frames) != 0 || more == nil {
		t.Error("there is more after the end")
	}
}
