package durable_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/durable"
)

// A strict file system keeps through a power cut what POSIX promises and no
// more: a name is kept once the directory that holds it was synced.
type strict struct {
	names map[string]bool // directories, by path; true: the name is on the disk
	syncs int
}

func newStrict() *strict { return &strict{names: map[string]bool{"/": true}} }

type info struct{ fs.FileInfo }

func (info) IsDir() bool        { return true }
func (info) ModTime() time.Time { return time.Time{} }

func (s *strict) Stat(path string) (fs.FileInfo, error) {
	if _, ok := s.names[path]; !ok {
		return nil, fs.ErrNotExist
	}
	return info{}, nil
}

func (s *strict) Mkdir(path string, _ fs.FileMode) error {
	if _, ok := s.names[path]; ok {
		return fs.ErrExist
	}
	if _, ok := s.names[filepath.Dir(path)]; !ok {
		return fs.ErrNotExist
	}
	s.names[path] = false
	return nil
}

func (s *strict) Sync(dir string) error {
	if _, ok := s.names[dir]; !ok {
		return fs.ErrNotExist
	}
	s.syncs++
	for path := range s.names {
		if filepath.Dir(path) == dir {
			s.names[path] = true
		}
	}
	return nil
}

// cut returns what a power cut leaves: names that are on the disk, in
// directories that are.
func (s *strict) cut() map[string]bool {
	left := map[string]bool{"/": true}
	var kept func(string) bool
	kept = func(path string) bool { return path == "/" || s.names[path] && kept(filepath.Dir(path)) }
	for path := range s.names {
		left[path] = kept(path)
	}
	return left
}

// forgetful makes directories as os.MkdirAll does: it syncs nothing.
type forgetful struct{ *strict }

func (forgetful) Sync(string) error { return nil }

// TestPowerCut makes directories at random depths below parents that are there,
// synced or not, and cuts the power: each is still there. The control arm, which
// syncs nothing, must lose some.
func TestPowerCut(t *testing.T) {
	const seed = 4711
	lost := func(sync bool) (n int) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range 500 {
			s := newStrict()
			var sys durable.System = s
			if !sync {
				sys = forgetful{s}
			}
			base := "/"
			for i := range r.IntN(3) {
				base = filepath.Join(base, fmt.Sprint("there", i))
				if err := s.Mkdir(base, 0o700); err != nil {
					t.Fatal(err)
				}
				s.names[base] = true
			}
			dir := base
			for i := range 1 + r.IntN(4) {
				dir = filepath.Join(dir, fmt.Sprint("new", i))
			}
			if r.IntN(3) == 0 { // as by a process that was killed before it synced
				if err := s.Mkdir(filepath.Join(base, "new0"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second finds all of it there
				if err := (durable.Dirs{System: sys}).MakeAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if !s.cut()[dir] {
					n++
				}
			}
		}
		return n
	}
	if n := lost(true); n > 0 {
		t.Errorf("seed %d: %d of 1000 directories are gone after a power cut", seed, n)
	}
	if n := lost(false); n < 900 {
		t.Errorf("without a sync only %d of 1000 are lost: the test cannot see what it is for", n)
	}
}
