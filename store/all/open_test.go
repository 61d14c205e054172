package all_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/all"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "store.db")
	for _, url := range []string{"memory:", " Memory:// ", "sqlite:" + path, "SQLITE://" + path} {
		s, err := all.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatalf("%q: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	s, err := all.Open(t.Context(), "sqlite:"+path, &all.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "redis://localhost", "memory:x", "memory", "sqlite:", "sqlite: ", "/a/path"} {
		s, err := all.Open(t.Context(), url, nil)
		if s != nil || !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "memory:") {
			t.Errorf("%q: %v, %v", url, s, err)
		}
	}
	if s, err := all.Open(t.Context(), "memory:", &all.Options{ReadOnly: true}); s != nil || !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a second process in memory: %v, %v", s, err)
	}
}

// TestOpenReturnsNoHalfStore: callers close what is not nil.
func TestOpenReturnsNoHalfStore(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	if s, err := all.Open(t.Context(), url, &all.Options{ReadOnly: true}); s != nil || !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("a store that is not there: %v, %v", s, err)
	}
	first, err := all.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := all.Open(t.Context(), url, nil); s != nil || !errors.Is(err, posthouse.ErrLocked) {
		t.Errorf("a store that is open: %v, %v", s, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
}
