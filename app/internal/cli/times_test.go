package cli_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// anyTime matches the beginning of a time, and zoned one with its zone.
var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*`)
	zoned   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\b`)
)

// TestTimesInTablesHaveAZone runs each command that shows or lists something and looks for times
// that are not RFC 3339 with a zone.
func TestTimesInTablesHaveAZone(t *testing.T) {
	d := clitest.OpenDesk(t, memstore.New())
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	paid := d.Ask("t", "acme")
	d.Run(0, "approve", string(paid))
	gate := d.Ask("u", "acme")
	g, err := d.Ledger.Gate(t.Context(), gate)
	ok(err)
	_, err = retain.Hold(t.Context(), d.Ledger, "u", retain.HoldOptions{By: "legal", Reason: "case 7"})
	ok(err)
	d.Run(0, "token", "create", "--name", "audit", "--role", "viewer", "--expires", time.Now().Add(time.Hour).Format(time.RFC3339))

	readers := []string{"list", "show", "log", "inbox", "grant", "history", "effects", "diff", "status", "verify", "tree", "versions", "releases", "stats"}
	shown, seen := 0, 0
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if !c.Runnable() || c.HasSubCommands() || !slices.Contains(readers, c.Name()) {
			return
		}
		args := path
		for _, word := range strings.Fields(c.Use)[1:] {
			switch strings.Trim(word, "[].") {
			case "THREAD":
				args = append(args, "u")
			case "CHECKPOINT", "A", "B":
				args = append(args, string(g.Checkpoint))
			case "GATE", "TASK":
				args = append(args, string(gate))
			}
		}
		if c.Flags().Lookup("server") != nil || c.InheritedFlags().Lookup("server") != nil {
			args = append(args, "--server", d.URL)
		}
		var out bytes.Buffer
		d.Start(t.Context(), &out, args...)
		shown++
		for _, at := range anyTime.FindAllString(out.String(), -1) {
			if seen++; !zoned.MatchString(at) {
				t.Errorf("%s shows the time %q", strings.Join(path, " "), at)
			}
		}
	}
	walk(cli.Root(&d.Config), nil)
	if shown < 12 || seen < 12 {
		t.Errorf("%d commands show %d times", shown, seen)
	}
}
