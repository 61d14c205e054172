package session

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server/tokens"
)

func TestSessionsAreBounded(t *testing.T) {
	now := time.Unix(1700000000, 0)
	ss := NewLogins(func() time.Time { return now }, time.Hour)
	begin := func(name string) string {
		now = now.Add(time.Millisecond)
		return ss.Begin(tokens.Token{Name: name})
	}
	alice, own := begin("alice"), begin("mallory")
	var last string
	for range maxLogins + 1 {
		last = begin("mallory")
	}
	if _, ok := ss.Get(alice); !ok {
		t.Error("another's logins ended alice's")
	}
	if _, ok := ss.Get(own); ok || len(ss.open) != tokenLogins+1 {
		t.Errorf("%d are open, mallory's first: %v", len(ss.open), ok)
	}
	if _, ok := ss.Get(last); !ok {
		t.Error("the newest is not open")
	}
	for i := range maxLogins {
		begin(fmt.Sprint("person-", i))
	}
	if _, ok := ss.Get(alice); !ok || len(ss.open) != maxLogins {
		t.Errorf("with a login of each of many tokens: alice's is open: %v, of %d", ok, len(ss.open))
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
