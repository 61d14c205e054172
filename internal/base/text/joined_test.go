package text

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestEmoji: the list of emoji is that of testdata, which the pages' tests compare with the browser's.
func TestEmoji(t *testing.T) {
	var file struct{ Emoji, Left, Right [][2]rune }
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/emoji.json"))(t), &file))
	if len(file.Emoji) != len(emoji) {
		t.Fatalf("%d ranges, want %d", len(emoji), len(file.Emoji))
	}
	for i, r := range file.Emoji {
		if emoji[i] != r {
			t.Errorf("range %x, want %x", emoji[i], r)
		}
	}
	for _, side := range []struct {
		have string
		want [][2]rune
	}{{joinedLeft, file.Left}, {joinedRight, file.Right}} {
		want := ""
		for _, r := range side.want {
			for c := r[0]; c <= r[1]; c++ {
				want += string(c)
			}
		}
		if side.have != want {
			t.Errorf("%q are joined, want %q", side.have, want)
		}
	}
}
