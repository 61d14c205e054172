package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/retain"
)

// completionTime is how long a shell waits for choices.
const completionTime = 2 * time.Second

// flagNouns lists the flags that take such arguments. A flag of one command has the command
// before its name.
var flagNouns = map[string]string{"thread": "THREAD", "graph": "PROGRAM", "program": "PROGRAM", "node": "NODE", "thread list version": "VERSION"}

// fixed are the flags that have one of a few values.
var fixed = map[string][]string{
	"role":       {"viewer", "approver", "operator", "worker"},
	"status":     {"running", "waiting", "ready", "interrupted", "done", "failed", "cancelled"},
	"log-level":  {"debug", "info", "warn", "error"},
	"output":     {"table", "json", "jsonl", "yaml"},
	"log-format": {"text", "json"},
	"mode":       {string(retain.DeleteOrphan), string(retain.DeleteSubtree)},
	"kind": {
		posthouse.KindSave, posthouse.KindInput, posthouse.KindNode, posthouse.KindWait, posthouse.KindUpdate, posthouse.KindFork,
		posthouse.KindFail, posthouse.KindEvent, posthouse.KindCancel, posthouse.KindInner, posthouse.KindMigrate,
	},
}

// complete checks the arguments of a command and its subcommands, and lets shells
// complete them. Usage lines name them; one in brackets may be left out, and one with dots
// repeated. File names are left to the shell.
func complete(cmd *cobra.Command, e *env.Env, nouns map[string]env.Completer) {
	takes := strings.Fields(cmd.Use)[1:]
	most := len(takes)
	if strings.HasSuffix(cmd.Use, "...") {
		most = manyArgs
	}
	cmd.Args = args(len(takes)-strings.Count(cmd.Use, "["), most)
	if !slices.ContainsFunc(takes, func(noun string) bool { return strings.TrimSuffix(noun, "...") == "FILE" }) {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(given) >= len(takes) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return values(cmd, e, nouns, takes[len(given)]), cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		noun := cmp.Or(flagNouns[path+" "+f.Name], flagNouns[f.Name])
		choices, isFixed := fixed[f.Name]
		if noun == "" && !isFixed {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			if isFixed {
				return choices, cobra.ShellCompDirectiveNoFileComp
			}
			return values(cmd, e, nouns, noun), cobra.ShellCompDirectiveNoFileComp
		}) // fails for a flag that is not there
	})
	for _, c := range cmd.Commands() {
		complete(c, e, nouns)
	}
}

// values returns the choices for a noun. Of several nouns the first that has a
// completer counts.
func values(cmd *cobra.Command, e *env.Env, nouns map[string]env.Completer, noun string) []string {
	if e.ReadSettings(cmd.Flags(), false) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	for n := range strings.SplitSeq(strings.Trim(noun, "[]"), "|") {
		if f := nouns[n]; f != nil {
			return f(ctx, e)
		}
	}
	return nil
}
