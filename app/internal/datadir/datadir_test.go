package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
)

func TestDefault(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Dir
	}{
		{map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/posthouse"},
		{map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/posthouse"},
		{map[string]string{"HOME": "/h"}, "/h/.local/share/posthouse"},
	} {
		got, err := Default(func(k string) string { return c.env[k] })
		if err != nil || got != c.want {
			t.Errorf("Default(%v) = %q, %v; want %q", c.env, got, err, c.want)
		}
	}
	if _, err := Default(func(string) string { return "" }); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("without a home: %v", err)
	}
}

func TestCreate(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "a", "b"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(string(d)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestTokenThatOthersMayRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644} {
		if err := os.WriteFile(path, []byte("secret\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadToken(path); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadToken(path); err != nil || got != "secret" {
		t.Errorf("got %q, error %v", got, err)
	}
	for _, bad := range []string{"", "\n", "two words"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadToken(path); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
