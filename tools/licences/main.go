// Command licences writes the licence texts of the modules that a binary links, for its archives, packages and image:
//
//	go run tools/licences/main.go release > THIRD-PARTY-LICENCES.txt
//
// The argument is the directory of the main package. It fails if a module has no text. It imports the standard
// library alone, so that it runs where no module of the tools is.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: licences DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// texts are the names of files with licences and notices.
var texts = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// write writes the texts of the modules that the package in a directory links, of all platforms, and of Go.
func write(w io.Writer, dir string) error {
	modules, err := linked(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The binary has code of Go and of %d modules. Their licences follow.\n", len(modules))
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	if err := add(w, "Go", strings.TrimSpace(string(goroot))); err != nil {
		return err
	}
	for _, m := range modules {
		name, at, _ := strings.Cut(m, "\t")
		if err := add(w, name, at); err != nil {
			return err
		}
	}
	return nil
}

// linked returns the modules with their directories, each as NAME VERSION, a tab and the directory.
func linked(dir string) (modules []string, err error) {
	for _, system := range []string{"linux", "darwin", "windows", "freebsd"} {
		cmd := exec.Command("go", "-C", dir, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{if not .Replace}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing what is linked for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimRight(line, "\n"); line != "" {
				modules = append(modules, line)
			}
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules), nil
}

func add(w io.Writer, name, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !texts.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(w, "\n%s\n%s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), name, f.Name(), strings.Repeat("=", 80), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no file with a licence in %s", name, dir)
	}
	return nil
}
