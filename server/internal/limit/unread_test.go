package limit

import (
	"fmt"
	"testing"
)

func TestUnreadBytesAreShared(t *testing.T) {
	u := NewUnread(10, 25)
	var stopped []string
	begin := func(name string, size int) func() {
		return u.Begin(name, size, func() { stopped = append(stopped, fmt.Sprint(name, size)) })
	}
	wants := func(what string, want ...string) {
		t.Helper()
		if fmt.Sprint(stopped) != fmt.Sprint(want) {
			t.Errorf("%s: given up are %v, want %v", what, stopped, want)
		}
		stopped = nil
	}
	begin("a", 50)
	wants("one that is larger than the share, alone")
	end := begin("a", 4)
	wants("another beside it", "a50")
	begin("a", 5)
	end()
	end()
	begin("a", 3)
	wants("within the share")
	begin("b", 9)
	begin("c", 8)
	wants("all together")
	begin("d", 1)
	wants("one more of another token", "b9")
	end = begin("e", 60)
	wants("one that is larger than all: nobody else pays for it")
	end()
	if len(u.of) != 3 || u.sum != 17 {
		t.Errorf("%d bytes of %d tokens are left", u.sum, len(u.of))
	}
}
