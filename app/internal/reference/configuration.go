package reference

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Settings are what [Configuration] tells beside the flags of commands.
type Settings struct {
	VariableOf func(flag string) string        // the name of a flag's variable
	FallsBack  func(f *pflag.Flag) []string    // variables that a flag falls back on, first to last
	InFile     []string                        // flags that a configuration file may have
	Secret     func(flag string) (file string) // the variable that names a file with a flag's value; "" if there is no such variable
	Others     []Variable                      // variables that are no flag's
	Kept       []File                          // of the data directory
}

// A Variable is one that is read and is no flag's.
type Variable struct{ Name, Group, Help string }

// A File is one of the data directory, by its name there.
type File struct{ Name, Help string }

// Configuration returns the page of all settings: each flag of serve and of every command with its
// variable, what it falls back on, and its default; then the variables that are no flag's, and files.
func Configuration(root *cobra.Command, s *Settings) []byte {
	p := newPage("Configuration")
	p.line("A setting has one name: `--data-dir` on the command line is `%s` in the environment and `data-dir` in the configuration file. "+
		"Where it is set in several places, the first of these counts:\n", s.VariableOf("data-dir"))
	p.table([]string{"Origin", "As in"}, [][]string{
		{"flag", "`--store postgres://…`"},
		{"variable", "`" + s.VariableOf("store") + "=postgres://…`"},
		{"file that a variable names", "`" + s.Secret("store") + "=/run/secrets/store`: the address on one line, for one with a password in it"},
		{"configuration file", "`store: postgres://…`"},
		{"fallback", "a variable of the field, such as `DATABASE_URL`, where the table below names one"},
		{"default", ""},
	})
	p.line("[`posthouse config show`](cli.md#posthouse-config-show) prints what holds here, and where each value is from. [Operating](../operations.md#settings) says when a fallback is not used.\n")
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		panic(err) // every command line has it
	}
	p.line("## Server\n\nThese are the flags of `posthouse serve`; `posthouse dev` has most of them.\n")
	for _, g := range settingGroups {
		p.settings(s, "### "+g.title, serve.LocalNonPersistentFlags(), func(f *pflag.Flag) bool { return groupOf(f.Name) == g.title })
	}
	p.settings(s, "## Every command", root.PersistentFlags(), func(*pflag.Flag) bool { return true })
	p.otherFlags(root, serve, s)
	p.variables(s.Others)
	p.files(s)
	return p.bytes()
}

// A settingGroup is the flags of serve of one subject, by their names or how those begin.
type settingGroup struct {
	title string
	flags []string
}

var settingGroups = []settingGroup{
	{"Listening", []string{"addr", "tls-", "allow-insecure", "allowed-host", "trust-proxy", "drain-timeout", "pprof"}},
	{"Store", []string{"store", "ephemeral", "allow-weak-store", "new-store", "max-state"}},
	{"Keys", []string{"encrypt", "keys", "new-key"}},
	{"Retention", []string{"retain-"}},
	{"Workers", []string{"nats", "task-limit"}},
	{"People", []string{"notify", "oidc-"}},
	{"Logs and traces", []string{"log-", "trace-url"}},
	{"Others", nil},
}

// groupOf returns the title of a flag's group.
func groupOf(flag string) string {
	for _, g := range settingGroups {
		for _, name := range g.flags {
			if flag == name || strings.HasPrefix(flag, name) && (strings.HasSuffix(name, "-") || strings.HasPrefix(flag, name+"-")) {
				return g.title
			}
		}
	}
	return "Others"
}

// settings writes some flags with their variables. Nothing is written without flags.
func (p *page) settings(s *Settings, heading string, flags *pflag.FlagSet, of func(*pflag.Flag) bool) {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" || !of(f) {
			return
		}
		usage, def := described(f)
		variable := tick(s.VariableOf(f.Name))
		if file := s.Secret(f.Name); file != "" {
			variable += ", " + tick(file)
		}
		if back := s.FallsBack(f); len(back) > 0 {
			usage += "; falls back on `" + strings.Join(back, "`, then `") + "`"
		}
		if !slices.Contains(s.InFile, f.Name) {
			usage += "; not in the configuration file"
		}
		rows = append(rows, []string{`<a id="` + f.Name + `"></a>` + tick("--"+f.Name), variable, def, usage})
	})
	if len(rows) > 0 {
		p.line("%s\n", heading)
		p.table([]string{"Flag", "Variable", "Default", "Meaning"}, rows)
	}
}

// otherFlags writes which commands have flags that neither serve nor every command has.
func (p *page) otherFlags(root, serve *cobra.Command, s *Settings) {
	with := map[string][]string{} // links to commands, by flag
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if serve.Flags().Lookup(f.Name) == nil && root.PersistentFlags().Lookup(f.Name) == nil && f.Name != "help" && f.Name != "version" && !f.Hidden {
				name := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
				with[f.Name] = append(with[f.Name], "[`"+name+"`](cli.md#"+anchorOf(c.CommandPath())+")")
			}
		})
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() && below.Name() != "completion" {
				walk(below)
			}
		}
	}
	walk(root)
	var rows [][]string
	for name, commands := range with {
		rows = append(rows, []string{tick("--" + name), tick(s.VariableOf(name)), strings.Join(commands, ", ")})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	p.line("## Flags of some commands\n\nThey are set for one command line as a rule. A variable sets them, too. The command says what each means.\n")
	p.table([]string{"Flag", "Variable", "Commands"}, rows)
}

// variables writes those that are no flag's.
func (p *page) variables(all []Variable) {
	p.line("## Other variables\n")
	rows := map[string][][]string{}
	var groups []string
	for _, v := range all {
		if rows[v.Group] == nil {
			groups = append(groups, v.Group)
		}
		rows[v.Group] = append(rows[v.Group], []string{`<a id="` + strings.ToLower(strings.Trim(strings.ReplaceAll(v.Name, "_", "-"), "-*")) + `"></a>` + tick(v.Name), prose(v.Help)})
	}
	for _, g := range groups {
		p.line("### %s\n", g)
		p.table([]string{"Variable", "Meaning"}, rows[g])
	}
}

// files writes the configuration file and those of the data directory.
func (p *page) files(s *Settings) {
	p.line("## The configuration file\n\n`posthouse/config.yaml` below `XDG_CONFIG_HOME`, by default `~/.config`; `--config` or `%s` names another. It is YAML of the names below, and of `contexts`: "+
		"servers by name, each with `server` and `token-file` ([`posthouse context`](cli.md#posthouse-context) writes them). A name that is no setting, or is there twice, is an error with its line.\n", s.VariableOf("config"))
	p.code("yaml", "addr: 0.0.0.0:8443\ntls-cert: /etc/posthouse/cert.pem\ntls-key: /etc/posthouse/key.pem\nallowed-host: [posthouse.example.com]\nretain-max-age: 90d\ncontext: prod\ncontexts:\n  prod:\n    server: https://posthouse.example.com\n    token-file: /home/ann/prod.token")
	names := slices.Sorted(slices.Values(s.InFile))
	p.line("Names: `%s`, `contexts`.\n", strings.Join(names, "`, `"))
	p.line("## The data directory\n\n`posthouse` below `XDG_DATA_HOME`, by default `~/.local/share`; below `%%LocalAppData%%` on Windows. `--data-dir` names another. Its mode is 0700.\n")
	var rows [][]string
	for _, f := range s.Kept {
		rows = append(rows, []string{tick(f.Name), prose(f.Help)})
	}
	p.table([]string{"File", "Contents"}, rows)
}
