package reference

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the page of a command line: each command with what it does, how it is called, its
// flags with their defaults, and examples, in the groups of its help.
func Commands(root *cobra.Command) []byte {
	p := newPage("Command line")
	p.line("Every command of `%s`, with its flags and examples, as `%s help COMMAND` shows them. Settings that are made by variables or in a file are in [configuration](configuration.md).\n", root.Name(), root.Name())
	before, exits, _ := strings.Cut(root.Long, "\n\nExit codes: ")
	for _, para := range strings.Split(before, "\n\n")[1:] {
		p.line("%s\n", paragraph(para))
	}
	p.exitCodes(exits)
	p.line("## Flags of every command\n")
	p.flags(root.PersistentFlags())
	for _, g := range root.Groups() {
		p.group(root, g)
	}
	return p.bytes()
}

var exitCode = regexp.MustCompile(`(?s)(\d) ([^,.(]+(?:\([^)]*\))?)`)

// exitCodes writes the list of root's help as a table.
func (p *page) exitCodes(text string) {
	p.line("## Exit codes\n\n[Errors](../errors.md#exit-codes) says which error ends a command with which code.\n")
	var rows [][]string
	for _, m := range exitCode.FindAllStringSubmatch(text, -1) {
		rows = append(rows, []string{tick(m[1]), strings.Join(strings.Fields(m[2]), " ")})
	}
	p.table([]string{"Code", "Meaning"}, rows)
}

// group writes the commands of a group: a list of them, then each.
func (p *page) group(root *cobra.Command, g *cobra.Group) {
	var of []*cobra.Command
	var rows [][]string
	for _, c := range root.Commands() {
		if c.GroupID == g.ID && c.IsAvailableCommand() && c.Name() != "help" {
			of = append(of, c)
			rows = append(rows, []string{commandLink(c), prose(lowered(c.Short))})
		}
	}
	p.line("## %s\n", strings.TrimSuffix(g.Title, ":"))
	p.table([]string{"Command", ""}, rows)
	for _, c := range of {
		p.command(c, "###")
	}
}

// commandLink leads to a command on its page.
func commandLink(c *cobra.Command) string {
	return "[`" + c.CommandPath() + "`](#" + anchorOf(c.CommandPath()) + ")"
}

// command writes a command and those below it.
func (p *page) command(c *cobra.Command, level string) {
	p.line("%s %s\n", level, c.CommandPath())
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
		p.line("%s\n", sentence(c.Short)) // cobra's own words go on for pages
	} else {
		for _, para := range strings.Split(strings.TrimSpace(about), "\n\n") {
			if strings.HasPrefix(para, " ") || strings.Contains(para, "\n  ") {
				p.code("sh", unindented(para))
				continue
			}
			p.line("%s\n", paragraph(para))
		}
	}
	var below []*cobra.Command
	var rows [][]string
	for _, b := range c.Commands() {
		if b.IsAvailableCommand() {
			below = append(below, b)
			rows = append(rows, []string{commandLink(b), prose(lowered(b.Short))})
		}
	}
	p.table([]string{"Command", ""}, rows)
	if c.Runnable() {
		p.code("text", c.UseLine())
	}
	if c.Example != "" {
		p.code("sh", unindented(c.Example))
	}
	p.flags(c.NonInheritedFlags())
	for _, b := range below {
		p.command(b, "####")
	}
}

// unindented takes the space away that help has before each line of an example.
func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

// flags writes a table of flags.
func (p *page) flags(flags *pflag.FlagSet) {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" {
			return
		}
		value, _ := pflag.UnquoteUsage(f)
		usage, def := described(f)
		name := "--" + f.Name
		if value != "" {
			name += " " + value
		}
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		rows = append(rows, []string{tick(name), def, usage})
	})
	p.table([]string{"Flag", "Default", "Meaning"}, rows)
}

var saidDefault = regexp.MustCompile(`\s*\(default:? ([^)]*)\)`)

// described returns the meaning of a flag and its default, which its usage may tell.
func described(f *pflag.Flag) (usage, def string) {
	_, usage = pflag.UnquoteUsage(f)
	if m := saidDefault.FindStringSubmatch(usage); m != nil {
		return prose(saidDefault.ReplaceAllString(usage, "")), prose(m[1])
	}
	switch f.DefValue {
	case "", "false", "[]", "0", "0s":
	default:
		def = tick(f.DefValue)
	}
	return prose(usage), def
}

// lowered is the first line of a command's help as a cell of a table.
func lowered(short string) string {
	if len(short) < 2 || short[1] >= 'A' && short[1] <= 'Z' {
		return short
	}
	return strings.ToLower(short[:1]) + short[1:]
}
