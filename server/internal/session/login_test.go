package session

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server/tokens"
)

func TestSessionsAreBounded(t *testing.T) {
	now := time.Unix(1700000000, 0)
	ss := NewLogins(func() time.Time { return now }, time.Hour)
	first := ss.Begin(tokens.Token{Name: "first"})
	for range maxLogins {
		now = now.Add(time.Millisecond)
		ss.Begin(tokens.Token{Name: "x"})
	}
	if _, ok := ss.Get(first); ok || len(ss.open) != maxLogins {
		t.Errorf("%d are open, the first: %v", len(ss.open), ok)
	}
	now = now.Add(2 * time.Hour)
	ss.Begin(tokens.Token{Name: "y"})
	if len(ss.open) != 1 {
		t.Errorf("%d are kept after they ended", len(ss.open))
	}
	if c := ss.Cookie(&http.Request{}, "x"); c.Secure {
		t.Error("a cookie over plain HTTP is Secure and never comes back")
	}
}
