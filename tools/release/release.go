package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// name is that of the binary, and what all files of a release begin with.
const name = "posthouse"

// A release is made once, by run.
type release struct {
	Root      string // checkout of the repository
	Out       string // directory for the files
	Version   string // tag, as in v0.1.0
	Main      string // directory of the binary's package, in Root
	Platforms []string
	Log       io.Writer

	work string    // directory for what is built on the way
	when time.Time // of the commit: no file has another time
}

// number is the version without the v of the tag.
func (r *release) number() string { return strings.TrimPrefix(r.Version, "v") }

var tag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// run makes all files, or returns what is wrong. What it made until then is left there.
func (r *release) run(ctx context.Context) (err error) {
	if !tag.MatchString(r.Version) {
		return fmt.Errorf("-version %q is no tag, as in v0.1.0", r.Version)
	}
	if err := r.makeOut(); err != nil {
		return err
	}
	notes, err := r.notes()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.Out, "notes.md"), notes, 0o644); err != nil {
		return err
	}
	if err := r.checkChart(); err != nil {
		return err
	}
	r.when, err = r.commitTime(ctx)
	if err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	extras, err := r.extras(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.Platforms {
		if err := r.platform(ctx, p, extras); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := r.chart(); err != nil {
		return err
	}
	return r.checksums()
}

// makeOut makes the directory for the files. Files of another release are not mixed in.
func (r *release) makeOut() error {
	if r.Out == "" {
		return errors.New("-out names no directory")
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	there, err := os.ReadDir(r.Out)
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("%s is not empty: it has %s", r.Out, there[0].Name())
	}
	return err
}

// notes returns the section of CHANGELOG.md about the version. One that is released before its
// time, as v0.1.0-rc.1, has the section of what is not released yet.
func (r *release) notes() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.Root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	heading := "## " + r.number()
	if strings.Contains(r.Version, "-") {
		heading = "## Unreleased"
	}
	var section []string
	inside := false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "## ") {
			inside = strings.HasPrefix(line, heading) && strings.IndexAny(line[len(heading):], " \r\n") == 0
			continue
		}
		if inside {
			section = append(section, line)
		}
	}
	text := strings.TrimSpace(strings.Join(section, ""))
	if text == "" {
		return nil, fmt.Errorf("CHANGELOG.md has no section %q, or an empty one", heading)
	}
	return []byte(text + "\n"), nil
}

// commitTime is when the commit was made that is released.
func (r *release) commitTime(ctx context.Context) (time.Time, error) {
	out, err := r.output(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build compiles the binary for a platform, and returns its path.
func (r *release) build(ctx context.Context, platform string) (string, error) {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return "", errors.New("no platform, as in linux/amd64")
	}
	path := filepath.Join(r.work, system+"_"+machine, name)
	if system == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(r.Log, "building for", platform)
	_, err := r.output(ctx, []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + machine, "GOFLAGS=", "GOWORK=off"},
		"go", "-C", r.Main, "build", "-trimpath", "-ldflags", "-s -w -X main.version="+r.Version, "-o", path, ".")
	return path, err
}

// platform makes the files of one platform.
func (r *release) platform(ctx context.Context, platform string, extras []file) error {
	binary, err := r.build(ctx, platform)
	if err != nil {
		return err
	}
	system, machine, _ := strings.Cut(platform, "/")
	base := strings.Join([]string{name, r.number(), system, machine}, "_")
	if err := r.bill(binary, base+".cdx.json"); err != nil {
		return err
	}
	files := []file{{From: binary, To: filepath.Base(binary), Mode: 0o755}}
	for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		files = append(files, file{From: filepath.Join(r.Root, doc), To: doc, Mode: 0o644})
	}
	files = append(files, extras...)
	if system == "windows" {
		return r.zip(base, files)
	}
	if err := r.tar(base+".tar.gz", base, files); err != nil {
		return err
	}
	if system == "linux" {
		return r.packages(machine, binary, extras)
	}
	return nil
}

// A file goes into an archive or a package under another name.
type file struct {
	From, To string // a path; a path in the archive
	Mode     os.FileMode
}

// extras are the files that the binary writes, manual pages and completions, for which it is run on this
// machine, and the licences of others.
func (r *release) extras(ctx context.Context) (all []file, err error) {
	binary, err := r.build(ctx, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(r.work, "man")
	if _, err := r.output(ctx, nil, binary, "man", pages); err != nil {
		return nil, err
	}
	written, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, p := range written {
		all = append(all, file{From: filepath.Join(pages, p.Name()), To: "man/man1/" + p.Name(), Mode: 0o644})
	}
	for _, c := range completions {
		script, err := r.output(ctx, nil, binary, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		from := filepath.Join(r.work, c.file)
		if err := os.WriteFile(from, script, 0o644); err != nil {
			return nil, err
		}
		all = append(all, file{From: from, To: "completions/" + c.file, Mode: 0o644})
	}
	others, err := r.thirdParties(ctx)
	return append(all, others), err
}

// licences is the file with the licence texts of all modules that the binary links.
const licences = "THIRD-PARTY-LICENCES.txt"

// thirdParties writes that file.
func (r *release) thirdParties(ctx context.Context) (file, error) {
	text, err := r.output(ctx, []string{"GOFLAGS=", "GOWORK=off"}, "go", "run", "tools/licences/main.go", r.Main)
	if err != nil {
		return file{}, err
	}
	from := filepath.Join(r.work, licences)
	return file{From: from, To: licences, Mode: 0o644}, os.WriteFile(from, []byte(text), 0o644)
}

// completions are the scripts of shells, with where packages install them.
var completions = []struct{ shell, file, installed string }{
	{"bash", name + ".bash", "/usr/share/bash-completion/completions/" + name},
	{"zsh", "_" + name, "/usr/share/zsh/site-functions/_" + name},
	{"fish", name + ".fish", "/usr/share/fish/vendor_completions.d/" + name + ".fish"},
	{"powershell", name + ".ps1", ""},
}

// checksums writes checksums.txt, as sha256sum reads it, about all that users download.
func (r *release) checksums() error {
	made, err := os.ReadDir(r.Out)
	if err != nil {
		return err
	}
	var lines []string
	for _, f := range made {
		if !strings.HasPrefix(f.Name(), name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.Out, f.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), f.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.Out, "checksums.txt"), []byte(strings.Join(lines, "")), 0o644)
}

// output runs a command in the checkout, and returns what it printed.
func (r *release) output(ctx context.Context, env []string, command string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = r.Root
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = r.Log
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(command), strings.Join(args, " "), err)
	}
	return out, nil
}
