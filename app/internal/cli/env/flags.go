package env

import (
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/server"
)

// ReasonFlag adds --reason.
func ReasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why; goes on record")
}

// YesFlag adds --yes, for commands that call [term.Term.Confirm].
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// DryRunFlag adds --dry-run, for commands that remove something or change many things.
func DryRunFlag(cmd *cobra.Command, dry *bool) {
	cmd.Flags().BoolVar(dry, "dry-run", false, "say what would be done, and do nothing")
}

// A Span is a duration flag that also knows days and weeks.
type Span time.Duration

func (s *Span) String() string {
	if *s == 0 {
		return "" // no default for help to name
	}
	return time.Duration(*s).String()
}

// Type names the values of the flag in help.
func (*Span) Type() string { return "duration" }

// Set parses a value of the flag, as 90s, 12h, 30d or 2w.
func (s *Span) Set(v string) error { return (*server.Span)(s).UnmarshalText([]byte(v)) }

// Quoted returns a word quoted for a shell.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)
