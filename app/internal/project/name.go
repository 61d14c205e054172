package project

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// maxPath is the longest path that a module may have, in bytes.
const maxPath = 200

var (
	element = regexp.MustCompile(`^[A-Za-z0-9_~][A-Za-z0-9._~-]*$`)
	major   = regexp.MustCompile(`^v[0-9]+$`)
)

// reserved are paths that Go keeps for itself.
var reserved = []string{"std", "cmd", "go", "toolchain", "main", "internal", "vendor"}

// PathOf returns the path of the module in a directory: the one that was given, else the
// directory's name. A path that Go does not take is [posthouse.ErrInvalid].
func PathOf(path, dir string) (string, error) {
	hint := "as in example.com/acme/refunds: letters, digits and . _ ~ - between slashes"
	if path == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		path, hint = filepath.Base(abs), "the directory's name is no name of a module: give one with --module"
	}
	refuse := func(message string) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "module", Message: message, Hint: hint}
	}
	elements := strings.Split(path, "/")
	bad := slices.IndexFunc(elements, func(e string) bool {
		return !element.MatchString(e) || strings.HasSuffix(e, ".")
	})
	switch {
	case len(path) > maxPath:
		return "", refuse(fmt.Sprintf("has %d bytes, and may have %d", len(path), maxPath))
	case bad >= 0:
		return "", refuse(fmt.Sprintf("%.60q has the element %.60q", path, elements[bad]))
	case slices.Contains(reserved, elements[0]):
		return "", refuse(fmt.Sprintf("%.60q is a path that Go keeps for itself", path))
	case path == Module || strings.HasPrefix(path, Module+"/"):
		return "", refuse("is posthouse itself")
	case major.MatchString(elements[len(elements)-1]) && len(elements) == 1:
		return "", refuse(fmt.Sprintf("%q is a version", path))
	}
	return path, nil
}

// nameOf returns the name of the program in a module: the last element of its path that is no
// version.
func nameOf(path string) string {
	elements := strings.Split(path, "/")
	last := len(elements) - 1
	if last > 0 && major.MatchString(elements[last]) {
		last--
	}
	return elements[last]
}
