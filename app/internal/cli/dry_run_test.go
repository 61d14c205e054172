package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli"
)

// TestWhatRemovesCanBeTried: a command that removes something or writes much has --dry-run. So has one
// that asks before it goes on, unless it is about one thing that the question shows.
func TestWhatRemovesCanBeTried(t *testing.T) {
	removes := []string{"delete", "drop", "purge", "revoke", "retire", "retain", "compact", "rewrap", "import", "store copy", "bulk", "fork"}
	shown := []string{
		"approve", "reject", "edit", "respond", "cancel", "thread cancel", "task cancel", "task drop", "ask-again", "happened", "redo", "give-up", // one question or thread
		"key rotate", "encryption rotate", "encryption clear", // a key is added, or a decision goes on record: nothing goes
	}
	var walk func(cmd *cobra.Command, path string)
	checked := 0
	walk = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			walk(c, strings.TrimSpace(path+" "+c.Name()))
		}
		asks := cmd.Flags().Lookup("yes") != nil && !slices.Contains(shown, path)
		goes := slices.ContainsFunc(removes, func(w string) bool { return strings.Contains(" "+path+" ", " "+w+" ") })
		if cmd.HasSubCommands() || !asks && !goes || slices.Contains(shown, path) {
			return
		}
		checked++
		if cmd.Flags().Lookup("dry-run") == nil {
			t.Errorf("%s has no --dry-run", path)
		}
	}
	walk(cli.Root(&cli.Config{Name: "posthouse"}), "")
	if checked < 12 {
		t.Errorf("%d commands remove something", checked)
	}
}
