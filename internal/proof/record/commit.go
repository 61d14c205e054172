package record

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrDirty says that a work tree has changes which no commit has.
var ErrDirty = errors.New("the work tree has changes that are not committed: nobody could find again what was tried")

// Commit returns the commit of the work tree at dir, for a line of a record. It fails with
// [ErrDirty] if files are changed or new. Records and the page that quotes them may be:
// those are what a long test writes.
func Commit(ctx context.Context, dir string) (string, error) {
	changed, err := git(ctx, dir, "status", "--porcelain", "--", ":/", ":(top,exclude)docs/record", ":(top,exclude)docs/guarantees/records.md")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("%w\n%s", ErrDirty, changed)
	}
	return git(ctx, dir, "describe", "--always")
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
