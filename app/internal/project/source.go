package project

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/posthouse/posthouse"
)

// Module is the path of the module that programs import.
const Module = "github.com/posthouse/posthouse"

// A Source is where a module gets posthouse from: a released version, or a checkout.
type Source struct {
	Version  string // as in v0.3.0; "" with a Checkout
	Checkout string // directory, absolute
}

// released matches the versions that a proxy has. The version of a commit is not among them: it may be
// nowhere but on this machine.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[0-9A-Za-z.-]*)?$`)

// SourceOf returns where this binary's posthouse is from. A checkout that is named goes first;
// then the version, of a released binary or of the module that it requires; then the checkout that
// contains the working directory; then the one that this binary was built from, if it is still there. Where there is
// no such place it is [posthouse.ErrInvalid].
func SourceOf(checkout, version string) (*Source, error) {
	if checkout != "" {
		if !isCheckout(checkout) {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "posthouse", Message: "is no checkout of posthouse: " + checkout, Hint: "name the directory with its go.mod"}
		}
		dir, err := filepath.Abs(checkout)
		return &Source{Checkout: dir}, err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if s := recorded(info, version); s != nil {
		return s, nil
	}
	dir, err := os.Getwd()
	for err == nil {
		if isCheckout(dir) {
			return &Source{Checkout: dir}, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	_, file, _, _ := runtime.Caller(0)
	if dir := builtFrom(file); dir != "" {
		return &Source{Checkout: dir}, nil
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "posthouse", Message: "is required: this binary is of no released version",
		Hint: "name the checkout that it was built from: --posthouse DIR",
	}
}

// builtFrom returns the checkout that the file with this function was compiled in, "" for a binary that was built with
// -trimpath, which does not say, and for a checkout that is gone.
func builtFrom(file string) string {
	dir, ok := strings.CutSuffix(filepath.ToSlash(file), "/app/internal/project/source.go")
	if !ok || !filepath.IsAbs(dir) || !isCheckout(dir) {
		return ""
	}
	return filepath.FromSlash(dir)
}

// recorded returns what Go recorded of posthouse in a binary, or nil.
func recorded(info *debug.BuildInfo, version string) *Source {
	if info.Main.Path == Module {
		for _, v := range []string{version, info.Main.Version} {
			if v != "" && !strings.HasPrefix(v, "v") {
				v = "v" + v
			}
			if released.MatchString(v) {
				return &Source{Version: v}
			}
		}
		return nil
	}
	for _, d := range info.Deps {
		switch {
		case d.Path != Module:
		case d.Replace != nil && isCheckout(d.Replace.Path):
			dir, err := filepath.Abs(d.Replace.Path)
			if err == nil && filepath.IsAbs(d.Replace.Path) { // else it is relative to a module that may be anywhere
				return &Source{Checkout: dir}
			}
		case d.Replace == nil && strings.HasPrefix(d.Version, "v"):
			return &Source{Version: d.Version}
		}
	}
	return nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?` + regexp.QuoteMeta(Module) + `"?\s*(//.*)?$`)

// isCheckout reports whether a directory has posthouse itself.
func isCheckout(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && moduleLine.Match(data)
}
