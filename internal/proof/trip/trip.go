package trip

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/posthouse/posthouse/"

// A T is a [testing.T].
type T interface {
	Helper()
	Name() string
	TempDir() string
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// runVariable is set in the environment of a run that is counted.
const runVariable = "POSTHOUSE_TRIP"

// Its values.
const (
	withCall    = "with the call"
	withoutCall = "without the call"
)

// Of returns the functions that a call enters in packages of this module (patterns below its
// root, as in "dispatch/..."), by file. Run prepares the call, and makes it if it is told to: it
// must do the same each time. In the runs that are counted Of returns nil.
func Of(t T, run func(call bool), packages ...string) map[string][]string {
	t.Helper()
	if how := os.Getenv(runVariable); how != "" {
		run(how == withCall)
		return nil
	}
	for i := range packages {
		packages[i] = module + packages[i]
	}
	dir := t.TempDir()
	execute(t, exec.Command("go", "test", "-c", "-o", dir+"/trip", "-covermode=atomic", "-coverpkg="+strings.Join(packages, ","), "."))
	count := func(how string) map[string]int {
		cmd := exec.Command(dir+"/trip", "-test.run=^"+t.Name()+"$", "-test.coverprofile="+dir+"/profile")
		cmd.Env = append(os.Environ(), runVariable+"="+how)
		execute(t, cmd)
		counts, err := read(dir + "/profile")
		if err != nil {
			t.Fatal(err)
		}
		return counts
	}
	without, with := count(withoutCall), count(withCall)
	for block, n := range without {
		if with[block] <= n {
			delete(with, block)
		}
	}
	files, err := functions(with)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func execute(t T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// read returns how often each block of a profile has run, without those that have not.
func read(profile string) (map[string]int, error) {
	b, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		block, rest, _ := strings.Cut(s.Text(), " ")
		_, count, ok := strings.Cut(rest, " ")
		if !ok {
			continue // the mode
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("line %q of the profile: %w", s.Text(), err)
		}
		if n > 0 {
			counts[block] = n
		}
	}
	return counts, nil
}

// functions returns the functions, by file, that blocks of a profile are in.
func functions(blocks map[string]int) (map[string][]string, error) {
	ran := map[string][]int{} // lines, by file
	for block := range blocks {
		file, place, _ := strings.Cut(block, ":")
		line, _, _ := strings.Cut(place, ".")
		n, err := strconv.Atoi(line)
		if err != nil {
			return nil, fmt.Errorf("block %q of a profile: %w", block, err)
		}
		file = strings.TrimPrefix(file, module)
		ran[file] = append(ran[file], n)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for file, lines := range ran {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line
			if slices.ContainsFunc(lines, func(l int) bool { return from <= l && l <= to }) {
				found[file] = append(found[file], fn.Name.Name)
			}
		}
	}
	return found, nil
}
