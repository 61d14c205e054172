package cli

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
)

// TestGivenFlagsArePassedOn: the program that dev builds gets the flags of the command line, and no
// others; it reads them as dev did.
func TestGivenFlagsArePassedOn(t *testing.T) {
	parse := func(args []string) []string {
		t.Helper()
		e := &env.Env{}
		cmd := devCmd(e, &Config{Dev: &Dev{About: "Serve"}})
		e.GlobalFlags(cmd.Flags())
		if err := cmd.Flags().Parse(args); err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"POSTHOUSE_LOG_LEVEL": "info", "PORT": "1"}
		r := settings.Reader{Getenv: func(name string) string { return vars[name] }, Kept: func() bool { return false }}
		if err := r.Read(cmd.Flags()); err != nil {
			t.Fatal(err)
		}
		return given(cmd.Flags())
	}
	got := parse([]string{
		"--allowed-host", "a", "--allowed-host=b", "--data-dir", "my data", "--encrypt", "--json=false", "--max-state", "16MiB",
		"--retain-max-age=30d", "--task-limit", "x=2", "--watch",
	})
	want := []string{
		"--allowed-host=a", "--allowed-host=b", "--data-dir=my data", "--encrypt=true", "--json=false", "--max-state=16MiB",
		"--retain-max-age=720h0m0s", "--task-limit=x=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("passed on are %q\nwant          %q", got, want)
	}
	if again := parse(got); !slices.Equal(again, want) {
		t.Errorf("read again they are %q", again)
	}
}
