package session

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server/tokens"
)

func TestSessionsAreBounded(t *testing.T) {
	now := time.Unix(1700000000, 0)
	ss := NewLogins(func() time.Time { return now }, time.Hour)
	begin := func(name string) string {
		now = now.Add(time.Millisecond)
		value, err := ss.Begin(tokens.Token{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return value
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
	for i := range maxLogins - 2 {
		begin(fmt.Sprint("person-", i))
	}
	if _, ok := ss.Get(alice); !ok || len(ss.open) != maxLogins {
		t.Errorf("with a login of each of many tokens: alice's is open: %v, of %d", ok, len(ss.open))
	}
	now = now.Add(2 * time.Hour)
	begin("y")
	if len(ss.open) != 1 {
		t.Errorf("%d are kept after they ended", len(ss.open))
	}
	if c := ss.Cookie(&http.Request{}, "x"); c.Secure {
		t.Error("a cookie over plain HTTP is Secure and never comes back")
	}
}

// TestLoginsSurviveARestart: a login holds at the next process and at one beside, one that
// was ended does not, and the file has neither a cookie nor a token's secret.
func TestLoginsSurviveARestart(t *testing.T) {
	now := time.Unix(1700000000, 0)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), LoginsFile)
	open := func() *Logins {
		t.Helper()
		ss, err := OpenLogins(clock, time.Hour, path)
		if err != nil {
			t.Fatal(err)
		}
		return ss
	}
	first, beside := open(), open()
	begin := func(name string) string {
		t.Helper()
		value, err := first.Begin(tokens.Token{Name: name, Role: tokens.Approver, Hash: [32]byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	alice, bob := begin("alice"), begin("bob")
	for name, ss := range map[string]*Logins{"the next": open(), "one beside": beside} {
		if who, ok := ss.Get(alice); !ok || who.Name != "alice" || who.Role != tokens.Approver || who.Hash != [32]byte{1} {
			t.Errorf("%s process has %+v, %v", name, who, ok)
		}
	}
	if err := beside.End(bob); err != nil {
		t.Fatal(err)
	}
	for name, ss := range map[string]*Logins{"the first": first, "the next": open()} {
		if _, ok := ss.Get(bob); ok {
			t.Errorf("at %s process bob is logged in after he logged out", name)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), alice) {
		t.Errorf("the file has the cookie: %s, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	now = now.Add(time.Hour)
	if _, ok := open().Get(alice); ok {
		t.Error("a login outlives its time over a restart")
	}
	now = now.Add(-time.Minute)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLogins(clock, time.Hour, path); err == nil {
		t.Error("a damaged file is taken")
	}
	if _, ok := first.Get(alice); ok {
		t.Error("of a damaged file somebody is logged in")
	}
	if value, err := first.Begin(tokens.Token{Name: "carol"}); err != nil {
		t.Logf("the log gets %v", err)
	} else if _, ok := open().Get(value); !ok {
		t.Error("after damage a login is not kept")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := first.Get(begin("dora")); !ok {
		t.Error("without the file nobody can log in")
	}
}
