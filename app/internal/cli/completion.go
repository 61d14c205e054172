package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/bench"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/retain"
)

// How many choices a shell is given, and how long they may take.
const (
	maxCompletions = 100
	completionTime = 2 * time.Second
)

// A completer offers the values of an argument. Whatever goes wrong, it offers
// nothing: a shell has nowhere to show an error.
type completer func(context.Context, *app) []string

// completers are by the name of an argument in a usage line.
var completers = map[string]completer{
	"GATE":       offer("/api/gates", func(g *posthouse.Gate) (string, string) { return string(g.ID), question(g) }),
	"THREAD":     offer("/api/threads", func(t *posthouse.ThreadInfo) (string, string) { return t.Thread, t.Graph + " " + string(t.Status) }),
	"CHECKPOINT": offer("/api/checkpoints", checkpointChoice),
	"A":          offer("/api/checkpoints", checkpointChoice),
	"B":          offer("/api/checkpoints", checkpointChoice),
}

func checkpointChoice(h *posthouse.Header) (id, about string) {
	return string(h.ID), h.Kind + " " + agentOrNode(h) + " of " + h.Thread
}

// flagNouns are the flags whose values are such arguments.
var flagNouns = map[string]string{"thread": "THREAD"}

// fixed are the flags that have one of a few values.
var fixed = map[string][]string{
	"role":      {"viewer", "approver", "operator"},
	"status":    {"running", "waiting", "ready", "interrupted", "done", "failed", "cancelled"},
	"log-level": {"debug", "info", "warn", "error"},
	"mode":      {string(retain.DeleteOrphan), string(retain.DeleteSubtree)},
	"only":      workloads(),
	"kind": {
		posthouse.KindSave, posthouse.KindInput, posthouse.KindNode, posthouse.KindWait, posthouse.KindUpdate, posthouse.KindFork,
		posthouse.KindFail, posthouse.KindEvent, posthouse.KindCancel, posthouse.KindInner, posthouse.KindMigrate,
	},
}

func workloads() []string {
	names, _ := bench.Names()
	return names
}

// offer returns a completer that lists what the server has. show returns the value of
// an item and a description.
func offer[T any](path string, show func(T) (value, about string)) completer {
	return func(ctx context.Context, a *app) (out []string) {
		c, err := a.client()
		if err != nil {
			return nil
		}
		for item, err := range rest.List[T](ctx, c, path, nil, maxCompletions) {
			if err != nil {
				return out
			}
			value, about := show(item)
			out = append(out, term.Visible(value)+"\t"+term.Clip(term.Visible(strings.TrimSpace(about)), 60))
		}
		return out
	}
}

// complete checks the arguments of a command and its subcommands, and lets shells
// complete them. Usage lines name them; one in brackets may be left out. File names
// are left to the shell.
func (a *app) complete(cmd *cobra.Command) {
	nouns := strings.Fields(cmd.Use)[1:]
	cmd.Args = args(len(nouns)-strings.Count(cmd.Use, "["), len(nouns))
	if !slices.Contains(nouns, "FILE") {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(given) >= len(nouns) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.values(cmd, nouns[len(given)]), cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		noun, isNoun := flagNouns[f.Name]
		values, isFixed := fixed[f.Name]
		if !isNoun && !isFixed {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			if isFixed {
				return values, cobra.ShellCompDirectiveNoFileComp
			}
			return a.values(cmd, noun), cobra.ShellCompDirectiveNoFileComp
		}) // fails for a flag that is not there
	})
	for _, c := range cmd.Commands() {
		a.complete(c)
	}
}

// values returns the choices for a noun. Of several nouns the first that has a
// completer counts.
func (a *app) values(cmd *cobra.Command, noun string) []string {
	if a.fromEnvironment(cmd.Flags()) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	for n := range strings.SplitSeq(strings.Trim(noun, "[]"), "|") {
		if f := completers[n]; f != nil {
			return f(ctx, a)
		}
	}
	return nil
}
