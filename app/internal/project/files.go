package project

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// requiresUs matches a go.mod that requires posthouse.
var requiresUs = regexp.MustCompile(`(?m)^\s*(require\s+)?"?` + regexp.QuoteMeta(Module) + `"?\s+v\S+`)

var mainPackage = regexp.MustCompile(`(?m)^package main\b`)

// AtHand reports whether a directory has the go.mod of a module that requires posthouse, and a
// package main.
func AtHand(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !requiresUs.Match(mod) || moduleLine.Match(mod) {
		return false
	}
	names, err := filepath.Glob(filepath.Join(escaped(dir), "*.go"))
	if err != nil {
		return false
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil && isSource(name) && mainPackage.Match(data) {
			return true
		}
	}
	return false
}

// escaped returns a directory's name as filepath.Glob takes it.
func escaped(dir string) string {
	return regexp.MustCompile(`[*?\[]`).ReplaceAllString(dir, "?")
}

// isSource reports whether a file's name is that of source which is compiled into a program.
func isSource(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") || base == "go.mod" || base == "go.sum"
}

// A stamp tells versions of a file apart.
type stamp struct {
	size int64
	time time.Time
}

// A snapshot is what the files of a module were like.
type snapshot map[string]stamp

func (s snapshot) equal(other snapshot) bool {
	return maps.EqualFunc(s, other, func(a, b stamp) bool { return a.size == b.size && a.time.Equal(b.time) })
}

// look returns a snapshot of the source below a directory, and of more files. Files that cannot be read
// are passed over: the compiler says so. Modules below it are not part of it.
func look(root string, more []string) snapshot {
	s := snapshot{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // no error of ours
		if d == nil {
			return nil // there is no root
		}
		switch name := d.Name(); {
		case err != nil && d.IsDir():
			return fs.SkipDir
		case err != nil || path == root:
		case d.IsDir():
			if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return fs.SkipDir
			}
		case isSource(name):
			s.add(path)
		}
		return nil
	})
	for _, path := range more {
		s.add(path)
	}
	return s
}

func (s snapshot) add(path string) {
	if info, err := os.Stat(path); err == nil {
		s[path] = stamp{info.Size(), info.ModTime()}
	}
}
