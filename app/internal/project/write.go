package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

//go:embed starter
var starter embed.FS

// Write fills a directory with a module of a path, and returns the names of its files. It makes
// the directory, and refuses one that has files: [posthouse.ErrExists]. If it fails, it removes what it
// has written.
func Write(dir, path string, from *Source) (names []string, err error) {
	files, err := contents(path, from)
	if err != nil {
		return nil, err
	}
	there, err := os.ReadDir(dir)
	switch {
	case err == nil && len(there) > 0:
		return nil, &posthouse.Error{Code: posthouse.CodeExists, Message: fmt.Sprintf("%s has files, as %s", dir, there[0].Name()), Hint: "name a directory that is empty or not there"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "DIR", Message: "cannot be read", Err: err, Hint: "name a directory that is empty or not there"}
	}
	made := err != nil
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, unwritten(err)
	}
	defer func() {
		if err == nil {
			return
		}
		for _, name := range names {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
		if made {
			err = errors.Join(err, os.Remove(dir))
		}
	}()
	for name, data := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return names, unwritten(err)
		}
		names = append(names, name)
		_, err = f.Write(data)
		if err := errors.Join(err, f.Close()); err != nil {
			return names, unwritten(err)
		}
	}
	slices.Sort(names)
	return names, nil
}

func unwritten(err error) error {
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the module cannot be written", Err: err}
}

// contents returns the files of a module, by name.
func contents(module string, from *Source) (map[string][]byte, error) {
	files := map[string][]byte{}
	name := nameOf(module)
	entries, err := starter.ReadDir("starter")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := starter.ReadFile(path.Join("starter", e.Name()))
		if err != nil {
			return nil, err
		}
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		switch e.Name() {
		case "README.md":
			data = bytes.ReplaceAll(data, []byte("NAME"), []byte(name))
		case "main.go":
			data = bytes.Replace(data, []byte("Command starter "), []byte("Command "+name+" "), 1)
		}
		files[e.Name()] = data
	}
	files[".gitignore"] = []byte("/" + name + "\n/" + name + ".exe\n")
	files["go.mod"], files["go.sum"], err = required(module, from)
	if from.Checkout == "" {
		delete(files, "go.sum")
	}
	return files, err
}

// required returns go.mod and go.sum. Over a checkout they hold all that it requires, at its
// versions, so that nothing must be downloaded or resolved.
func required(module string, from *Source) (mod, sum []byte, err error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s\n\n", module)
	if from.Checkout == "" {
		fmt.Fprintf(&b, "go %s\n\nrequire %s %s\n", goVersion(), Module, from.Version)
		return b.Bytes(), nil, nil
	}
	there, err := os.ReadFile(filepath.Join(from.Checkout, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	sum, err = os.ReadFile(filepath.Join(from.Checkout, "go.sum"))
	if err != nil {
		return nil, nil, err
	}
	version := goLine.FindSubmatch(there)
	if version == nil {
		return nil, nil, fmt.Errorf("posthouse: %s has no line with the version of Go", filepath.Join(from.Checkout, "go.mod"))
	}
	const unreleased = "v0.0.0"
	fmt.Fprintf(&b, "go %s\n\nrequire %s %s\n\nrequire (\n", version[1], Module, unreleased)
	for _, line := range requirement.FindAllSubmatch(there, -1) {
		fmt.Fprintf(&b, "\t%s %s // indirect\n", line[1], line[2])
	}
	fmt.Fprintf(&b, ")\n\nreplace %s => %s\n", Module, quoted(from.Checkout))
	return b.Bytes(), sum, nil
}

var (
	goLine      = regexp.MustCompile(`(?m)^go (\S+)`)
	requirement = regexp.MustCompile(`(?m)^(?:\t|require )([^\s()]+\.[^\s()]+/?\S*) (v\S+)`)
)

// goVersion returns the version of Go that built this binary, as go.mod has it.
func goVersion() string {
	return regexp.MustCompile(`\d+\.\d+`).FindString(runtime.Version()) + ".0"
}

// quoted returns a path as go.mod takes it.
func quoted(path string) string {
	path = filepath.ToSlash(path)
	if strings.ContainsAny(path, " \t\"'`(),") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}
