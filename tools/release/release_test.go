package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// repository is the checkout that holds this module.
const repository = "../.."

// program stands for the binary: it writes a page and completions, as posthouse does.
const program = `package main

import (
	"os"

	_ "example.com/posthouse/named"
)

var version string

func main() {
	switch os.Args[1] {
	case "man":
		if os.MkdirAll(os.Args[2], 0o755) != nil || os.WriteFile(os.Args[2]+"/posthouse.1", []byte(".TH \"POSTHOUSE\" 1\n"), 0o644) != nil {
			os.Exit(1)
		}
	case "completion":
		os.Stdout.WriteString("# " + os.Args[2] + "\n")
	case "version":
		os.Stdout.WriteString(version)
	}
}
`

const changelog = `# Changelog

## Unreleased

- A thing to come.

## 0.1.0 (2026-11-26)

### The log
- A thing.

## 0.0.1

- The first thing.
`

// checkout makes a repository with a small program, and the files of deploy as they are.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		file = filepath.Join(dir, file)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/posthouse\n\ngo 1.26\n")
	write("named/named.go", "package named\n\nvar Version string\n")
	write("release/go.mod", "module example.com/posthouse/release\n\ngo 1.26\n\nrequire example.com/posthouse v0.0.0\n\nreplace example.com/posthouse => ../\n")
	write("release/main.go", program)
	write("CHANGELOG.md", changelog)
	write("README.md", "# Posthouse\n")
	write("LICENSE", "Apache License\n")
	lister, err := os.ReadFile(filepath.Join(repository, "tools/licences/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	write("tools/licences/main.go", string(lister))
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(filepath.Join(repository, "deploy"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "root", "--date", "2026-11-26T12:00:00Z"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_COMMITTER_DATE=2026-11-26T12:00:00Z",
			"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestRelease makes a release of a small program for this machine, twice: the files are the same
// and have in them what a user looks for.
func TestRelease(t *testing.T) {
	root := checkout(t)
	var outs []string
	for range 2 {
		out := filepath.Join(t.TempDir(), "dist")
		r := &release{Root: root, Out: out, Version: "v0.1.0", Main: "release", Platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}, Log: t.Output()}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	first, second := contents(t, outs[0]), contents(t, outs[1])
	if !maps.Equal(first, second) {
		t.Errorf("of one commit two releases differ:\n%q\n%q", slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
	}
	if got, want := first["notes.md"], "### The log\n- A thing.\n"; got != want {
		t.Errorf("the notes are %q, want %q", got, want)
	}
	sums := map[string]string{}
	for line := range strings.Lines(first["checksums.txt"]) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[file] = sum
	}
	for file, data := range first {
		if file == "notes.md" || file == "checksums.txt" {
			continue
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(data))); sums[file] != want {
			t.Errorf("the checksum of %s is %q, want %s", file, sums[file], want)
		}
	}
	if runtime.GOOS != "linux" {
		t.Logf("packages are made on Linux; this is %s", runtime.GOOS)
		return
	}
	base := "posthouse_0.1.0_linux_" + runtime.GOARCH
	archive := untar(t, first[base+".tar.gz"])
	want := []string{
		"CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY-LICENCES.txt", "completions/_posthouse", "completions/posthouse.bash", "completions/posthouse.fish", "completions/posthouse.ps1",
		"man/man1/posthouse.1", "posthouse",
	}
	for i := range want {
		want[i] = base + "/" + want[i]
	}
	if got := slices.Sorted(maps.Keys(archive)); !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
	binary := archive[base+"/posthouse"]
	if binary.mode != 0o755 || !strings.Contains(binary.data, "v0.1.0") {
		t.Errorf("the binary has the mode %o, and does not say v0.1.0", binary.mode)
	}
	billed(t, first[base+".cdx.json"], binary.data)
	for _, file := range slices.Sorted(maps.Keys(first)) {
		switch path.Ext(file) {
		case ".deb":
			control, files := undeb(t, first[file])
			installed(t, file, files, binary.data)
			for _, want := range []string{"Package: posthouse\n", "Version: 0.1.0\n", "Architecture: " + runtime.GOARCH + "\n"} {
				if !strings.Contains(control["control"].data, want) {
					t.Errorf("%s lacks %q:\n%s", file, want, control["control"].data)
				}
			}
			if control["conffiles"].data != "/etc/posthouse/posthouse.env\n" {
				t.Errorf("%s has the settings %q", file, control["conffiles"].data)
			}
			for script, from := range map[string]string{"postinst": "postinstall.sh", "prerm": "preremove.sh", "postrm": "postremove.sh"} {
				if control[script].data != read(t, "deploy/packages/"+from) || control[script].mode&0o111 == 0 {
					t.Errorf("%s has another %s than %s", file, script, from)
				}
			}
		case ".rpm":
			installed(t, file, unrpm(t, first[file]), binary.data)
		}
	}
	chart := untar(t, first["posthouse-chart-0.1.0.tgz"])
	for _, f := range []string{"Chart.yaml", "values.yaml", "values.schema.json", "templates/statefulset.yaml"} {
		if chart["posthouse/"+f].data != read(t, "deploy/helm/posthouse/"+f) {
			t.Errorf("the chart lacks %s", f)
		}
	}
	if n := len(first); n != 7 {
		t.Errorf("there are %d files, want archive, bill, deb, rpm, chart, checksums and notes: %q", n, slices.Sorted(maps.Keys(first)))
	}
}

// TestPackagesOfCandidates names packages of a version before its time so that a page of
// downloads can list them; inside they are ordered before the release.
func TestPackagesOfCandidates(t *testing.T) {
	r := &release{Root: checkout(t), Out: t.TempDir(), Version: "v0.2.0-rc.1"}
	if err := r.packages("arm64", filepath.Join(r.Root, "LICENSE"), nil); err != nil {
		t.Fatal(err)
	}
	made := contents(t, r.Out)
	if got, want := slices.Sorted(maps.Keys(made)), []string{"posthouse-0.2.0-rc.1-1.aarch64.rpm", "posthouse_0.2.0-rc.1_arm64.deb"}; !slices.Equal(got, want) {
		t.Fatalf("the packages are %q, want %q", got, want)
	}
	if control, _ := undeb(t, made["posthouse_0.2.0-rc.1_arm64.deb"]); !strings.Contains(control["control"].data, "Version: 0.2.0~rc.1\n") {
		t.Errorf("the package is about\n%s", control["control"].data)
	}
}

// TestPackageScripts has a shell read the scripts of packages.
func TestPackageScripts(t *testing.T) {
	for _, script := range []string{"postinstall.sh", "preremove.sh", "postremove.sh"} {
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", filepath.Join(repository, "deploy/packages", script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

// installed compares what a package installs with the files of the repository.
func installed(t *testing.T, pkg string, files map[string]packed, binary string) {
	t.Helper()
	page, err := gzip.NewReader(strings.NewReader(files["/usr/share/man/man1/posthouse.1.gz"].data))
	if err != nil {
		t.Errorf("%s: the manual page: %v", pkg, err)
		return
	}
	text, err := io.ReadAll(page)
	if err != nil {
		t.Errorf("%s: the manual page: %v", pkg, err)
	}
	files["/usr/share/man/man1/posthouse.1.gz"] = packed{files["/usr/share/man/man1/posthouse.1.gz"].mode, string(text)}
	want := map[string]packed{
		"/usr/bin/posthouse":                                  {0o755, binary},
		"/usr/lib/systemd/system/posthouse.service":           {0o644, read(t, "deploy/systemd/posthouse.service")},
		"/usr/lib/sysusers.d/posthouse.conf":                  {0o644, read(t, "deploy/systemd/posthouse.sysusers")},
		"/etc/posthouse/posthouse.env":                        {0o640, read(t, "deploy/systemd/posthouse.env")},
		"/usr/share/doc/posthouse/copyright":                  {0o644, "Apache License\n"},
		"/usr/share/man/man1/posthouse.1.gz":                  {0o644, ".TH \"POSTHOUSE\" 1\n"},
		"/usr/share/bash-completion/completions/posthouse":    {0o644, "# bash\n"},
		"/usr/share/zsh/site-functions/_posthouse":            {0o644, "# zsh\n"},
		"/usr/share/fish/vendor_completions.d/posthouse.fish": {0o644, "# fish\n"},
	}
	const others = "/usr/share/doc/posthouse/THIRD-PARTY-LICENCES.txt"
	if !strings.Contains(files[others].data, "Go: LICENSE") || files[others].mode != 0o644 {
		t.Errorf("%s has no licences of others: %q", pkg, files[others].data)
	}
	delete(files, others)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got := files[name]; got != want[name] {
			t.Errorf("%s installs %s with mode %o and %d bytes, want %o and %d", pkg, name, got.mode, len(got.data), want[name].mode, len(want[name].data))
		}
		delete(files, name)
	}
	if len(files) > 0 {
		t.Errorf("%s installs also %q", pkg, slices.Sorted(maps.Keys(files)))
	}
}

// billed reads a bill of materials of the small program.
func billed(t *testing.T, text, binary string) {
	t.Helper()
	var bom struct {
		Format   string `json:"bomFormat"`
		Serial   string `json:"serialNumber"`
		Metadata struct {
			Timestamp string
			Component struct {
				Name, Version, PURL string
				Hashes              []struct{ Alg, Content string }
			}
		}
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal([]byte(text), &bom); err != nil {
		t.Fatal(err)
	}
	c := bom.Metadata.Component
	if bom.Format != "CycloneDX" || bom.Metadata.Timestamp != "2026-11-26T12:00:00Z" || c.PURL != "pkg:golang/example.com/posthouse/release@v0.1.0" {
		t.Errorf("the bill is %+v", bom)
	}
	if len(c.Hashes) != 1 || c.Hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256([]byte(binary))) {
		t.Errorf("the bill is about a binary with the hash %+v", c.Hashes)
	}
	if len(bom.Components) != 2 || bom.Components[0].PURL != "pkg:golang/std@"+runtime.Version() || bom.Components[1].PURL != "pkg:golang/example.com/posthouse@v0.1.0" {
		t.Errorf("the program links %+v, want Go and the module around", bom.Components)
	}
}

// TestBillListsModules makes the bill of this test, which links modules.
func TestBillListsModules(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &release{Out: t.TempDir(), Version: "v1.0.0", when: time.Unix(0, 0).UTC()}
	if err := r.bill(self, "bill.json"); err != nil {
		t.Fatal(err)
	}
	text := contents(t, r.Out)["bill.json"]
	for _, want := range []string{`"pkg:golang/github.com/goreleaser/nfpm/v2@v2`, `"golang:sum"`, `"value": "h1:`, `"golang:build:GOOS"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the bill lacks %s:\n%.2000s", want, text)
		}
	}
}

// TestZip reads an archive for Windows.
func TestZip(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "posthouse.exe")
	if err := os.WriteFile(binary, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &release{Out: dir, when: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}
	if err := r.zip("posthouse_0.1.0_windows_amd64", []file{{From: binary, To: "posthouse.exe", Mode: 0o755}}); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(dir, "posthouse_0.1.0_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) != 1 || z.File[0].Name != "posthouse_0.1.0_windows_amd64/posthouse.exe" || z.File[0].Mode() != 0o755 || !z.File[0].Modified.Equal(r.when) {
		t.Errorf("the archive has %+v", z.File)
	}
}

// TestReleaseRefuses starts releases that are wrong, each before anything is built.
func TestReleaseRefuses(t *testing.T) {
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "posthouse_0.0.9.deb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte(changelog), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, chartDir), os.DirFS(filepath.Join(repository, chartDir))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, out, want string }{
		{"0.1.0", "new", "no tag"},
		{"v0.1", "new", "no tag"},
		{"v0.1.0", "", "names no directory"},
		{"v0.1.0", used, "not empty: it has posthouse_0.0.9.deb"},
		{"v0.1.1", "new", `no section "## 0.1.1"`},
		{"v0.1.00", "new", "no section"},
		{"v0.0.1", "new", "Chart.yaml has the version 0.1.0, want 0.0.1"},
	} {
		if c.out == "new" {
			c.out = filepath.Join(t.TempDir(), "dist")
		}
		r := &release{Root: root, Out: c.out, Version: c.version, Log: t.Output()}
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %q: %v, want an error that says %s", c.version, c.out, err, c.want)
		}
	}
	r := &release{Root: root, Version: "v0.2.0-rc.1"}
	if notes, err := r.notes(); err != nil || string(notes) != "- A thing to come.\n" {
		t.Errorf("the notes of a release before its time are %q, %v", notes, err)
	}
}

// TestNotesOfTheRepository finds what a release of today's checkout would say.
func TestNotesOfTheRepository(t *testing.T) {
	r := &release{Root: repository, Version: "v0.0.0-test"}
	if notes, err := r.notes(); err != nil || len(notes) < 100 {
		t.Errorf("the notes: %q, %v", notes, err)
	}
	if !slices.Contains(platforms, "windows/arm64") || len(platforms) != 6 {
		t.Errorf("releases are for %q, want six platforms", platforms)
	}
}

// A packed file is one in an archive or a package.
type packed struct {
	mode os.FileMode
	data string
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// contents reads the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(data)
	}
	return all
}

func untar(t *testing.T, text string) map[string]packed {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]packed{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			all[h.Name] = packed{os.FileMode(h.Mode), string(data)}
		}
	}
}

// undeb unpacks a Debian package, an archive of ar: sixty bytes about each member, which begins at
// an even place.
func undeb(t *testing.T, text string) (control, files map[string]packed) {
	t.Helper()
	rest, ok := strings.CutPrefix(text, "!<arch>\n")
	if !ok {
		t.Fatal("the package is no archive of ar")
	}
	for len(rest) > 60 {
		member := strings.TrimRight(rest[:16], " /")
		var size int
		if _, err := fmt.Sscan(rest[48:58], &size); err != nil {
			t.Fatal(err)
		}
		data := rest[60 : 60+size]
		rest = rest[min(60+size+size%2, len(rest)):]
		switch member {
		case "debian-binary":
			if data != "2.0\n" {
				t.Errorf("the package has the format %q", data)
			}
		case "control.tar.gz":
			control = rooted(untar(t, data), "")
		case "data.tar.gz":
			files = rooted(untar(t, data), "/")
		default:
			t.Errorf("the package has a member %s", member)
		}
	}
	return control, files
}

// rooted gives files names that begin with root.
func rooted(files map[string]packed, root string) map[string]packed {
	all := map[string]packed{}
	for name, f := range files {
		all[root+strings.TrimLeft(name, "./")] = f
	}
	return all
}

// unrpm unpacks an RPM package: a lead, two headers, of which the first is padded to eight bytes,
// and a packed archive of cpio.
func unrpm(t *testing.T, text string) map[string]packed {
	t.Helper()
	b := bufio.NewReader(strings.NewReader(text))
	skip := func(n int) {
		t.Helper()
		if _, err := b.Discard(n); err != nil {
			t.Fatal(err)
		}
	}
	skip(96)
	for header := range 2 {
		about, err := b.Peek(16)
		if err != nil || !bytes.HasPrefix(about, []byte("\x8e\xad\xe8\x01")) {
			t.Fatalf("the package has no header: % x, %v", about, err)
		}
		number := func(at int) int {
			return int(about[at])<<24 | int(about[at+1])<<16 | int(about[at+2])<<8 | int(about[at+3])
		}
		size := 16 + 16*number(8) + number(12)
		if header == 0 {
			size += (8 - size%8) % 8
		}
		skip(size)
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return uncpio(t, string(data))
}

// uncpio unpacks an archive of cpio: thirteen numbers of eight digits about each file, its name and
// its bytes, each padded to four bytes.
func uncpio(t *testing.T, rest string) map[string]packed {
	t.Helper()
	all := map[string]packed{}
	for at := 0; ; {
		if !strings.HasPrefix(rest[at:], "070701") {
			t.Fatalf("no file at %d", at)
		}
		number := func(i int) (n int) {
			if _, err := fmt.Sscanf(rest[at+6+8*i:at+14+8*i], "%x", &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		mode, size, length := number(1), number(6), number(11)
		name := rest[at+110 : at+110+length-1]
		if name == "TRAILER!!!" {
			return all
		}
		begin := (at + 110 + length + 3) / 4 * 4
		if mode&0o170000 == 0o100000 {
			all["/"+strings.TrimLeft(name, "./")] = packed{os.FileMode(mode & 0o777), rest[begin : begin+size]}
		}
		at = (begin + size + 3) / 4 * 4
	}
}
