package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/doctor"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/live"
	"github.com/posthouse/posthouse/app/internal/cli/people"
	"github.com/posthouse/posthouse/app/internal/cli/stores"
	"github.com/posthouse/posthouse/app/internal/cli/tasks"
	"github.com/posthouse/posthouse/app/internal/cli/threads"
	"github.com/posthouse/posthouse/app/internal/cli/webhooks"
)

// root returns the command that all others are below.
func root(e *env.Env, c *Config) *cobra.Command {
	asked := false // for the version
	cmd := &cobra.Command{
		Use:   e.Name(),
		Short: "Durable checkpoints and approvals for agent workflows",
		Long: `Durable checkpoints and approvals for agent workflows.

` + firstStep(c.Dev != nil) + `
It prints the next command to type.

Where a command takes an id, the ending of one is enough, 4 characters or more; so
are 01a2...667e, a thread's name, and THREAD#N for what its entry N recorded.

Every flag can be set by an environment variable: POSTHOUSE_ and the flag's
name in capitals, as in POSTHOUSE_DATA_DIR. POSTHOUSE_TOKEN is the access token
itself, where no file is named. POSTHOUSE_STORE_FILE and POSTHOUSE_NATS_FILE name files
with those addresses. A configuration file may have the same settings, and several servers:
see "posthouse config show" and "posthouse context". NO_COLOR turns colours off.

Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 something
else won (decided, conflict, busy, exists, ambiguous, cancelled), 5 expired, 6 forbidden,
7 not available now, 8 damage found.`,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return showVersion(e, c.Version)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			e.Repeat(cmd.Flags())
			if err := e.ReadSettings(cmd.Flags(), cmd.Annotations[env.Lenient] != ""); err != nil {
				return err
			}
			e.Unknown = catalogue(cmd.Root()).Unknown(e.Environ())
			return flagsAreText(cmd.Flags())
		},
	}
	cmd.Flags().BoolVar(&asked, versionFlag, false, "print the version")
	e.GlobalFlags(cmd.PersistentFlags())

	addCommands(cmd, e, c)
	e.ConfigKeys = configKeys(cmd)
	complete(cmd, e, threads.Completers())
	rename(cmd, e)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Message: err.Error(), Hint: "see: " + cmd.CommandPath() + " --help"}
	})
	return cmd
}

// firstStep is what help begins with.
func firstStep(dev bool) string {
	if !dev {
		return `Begin with "posthouse serve": a server on this machine with its programs.`
	}
	return `Begin with "posthouse dev": a server on this machine with a sample to try.`
}

// addCommands adds all commands, in the groups that help lists them by.
func addCommands(root *cobra.Command, e *env.Env, c *Config) {
	add := func(group string, cs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: group + ":"})
		for _, c := range cs {
			c.GroupID = group
		}
		root.AddCommand(cs...)
	}
	run := []*cobra.Command{serveCmd(e, c), threads.Run(e), threads.Send(e), threads.Signal(e), threads.Resume(e), threads.Replay(e), threads.Anew(e)}
	if c.Dev != nil {
		run = append(run, devCmd(e, c))
	}
	run = append(run, initCmd(e, c))
	thread := threads.Thread(e)
	thread.AddCommand(stores.ThreadExport(e), stores.ThreadImport(e))
	add("Run", run...)
	add("Decide", append(threads.Decide(e), threads.Inbox(e), threads.Gate(e), threads.Delegate(e), threads.TakeBack(e), people.People(e), people.Substitute(e), threads.AskAgain(e))...)
	add("Look and change", threads.Program(e), thread, threads.Checkpoint(e), threads.State(e), threads.Log(e), live.Watch(e), live.Top(e), people.Waits(e), people.Processes(e), threads.Grant(e), threads.Diff(e))
	add("Hand out", tasks.Task(e), tasks.Worker(e))
	add("Prove", stores.Verify(e), people.Audit(e), stores.Witness(e), stores.Export(e), stores.Key(e), stores.Encryption(e))
	add("Operate", stores.Token(e), webhooks.Webhook(e, c.Channels), stores.Retain(e), stores.Compact(e), stores.Backup(e), stores.Restore(e), stores.Store(e), stores.Cat(e), stores.Bench(e), healthCmd(e), doctor.Doctor(e, c.Version), logLevelCmd(e), configCmd(e, c), contextCmd(e), manCmd(e, c), versionCmd(e, c))
	root.SetHelpCommandGroupID("Operate")
	root.SetCompletionCommandGroupID("Operate")
}

// rename puts the binary's name into the help of a command and of all below it.
func rename(cmd *cobra.Command, e *env.Env) {
	cmd.Long, cmd.Example = e.Named(cmd.Long), e.Named(cmd.Example)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = e.Named(f.Usage) })
	for _, below := range cmd.Commands() {
		rename(below, e)
	}
}
