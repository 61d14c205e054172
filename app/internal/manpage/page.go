// Package manpage writes the manual pages of a command line, in the language of man(7). It is
// written here, since a library would bring a parser of Markdown into every binary.
package manpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteAll writes a page for a command and for each below it into a directory, which is made if
// it is not there, and returns the names of the files: posthouse-store-check.1 is that of
// posthouse store check. The version is shown at the foot.
func WriteAll(cmd *cobra.Command, dir, version string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var names []string
	var write func(*cobra.Command) error
	write = func(cmd *cobra.Command) error {
		file := Name(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, file), Page(cmd, version), 0o644); err != nil {
			return err
		}
		names = append(names, file)
		for _, below := range shown(cmd) {
			if err := write(below); err != nil {
				return err
			}
		}
		return nil
	}
	return names, write(cmd)
}

// Name returns the name of a command's page.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// shown returns the commands below one that its help lists.
func shown(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c)
		}
	}
	return all
}

// Page returns the page of a command.
func Page(cmd *cobra.Command, version string) []byte {
	var p page
	cmd.InitDefaultHelpFlag()
	root := cmd.Root().Name()
	p.line(`.TH "%s" 1 "" "%s" "%s"`, escape(strings.ToUpper(Name(cmd))), escape(root+" "+version), escape(root))
	p.section("NAME")
	p.line(`%s \- %s`, escape(Name(cmd)), escape(cmd.Short))
	p.section("SYNOPSIS")
	p.line(`.B %s`, escape(cmd.UseLine()))
	p.section("DESCRIPTION")
	if cmd.Long == "" {
		p.text(cmd.Short + ".")
	} else {
		p.text(cmd.Long)
	}
	below := shown(cmd)
	if len(below) > 0 {
		p.section("COMMANDS")
		for _, c := range below {
			p.line(".TP\n.B %s\n%s", escape(c.Name()), escape(c.Short))
		}
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.verbatim(cmd.Example)
	}
	p.seeAlso(cmd, below)
	return p.b.Bytes()
}

// A page is one that is being written.
type page struct{ b bytes.Buffer }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *page) section(name string) { p.line(`.SH "%s"`, name) }

// text writes paragraphs. One that is indented stands as it is.
func (p *page) text(s string) {
	for i, para := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		if strings.HasPrefix(para, " ") || strings.Contains(para, "\n  ") {
			p.verbatim(para)
			continue
		}
		p.line("%s", escape(para))
	}
}

func (p *page) verbatim(s string) {
	p.line(".nf\n%s\n.fi", escape(strings.Trim(s, "\n")))
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + escape(value) + `\fR`
		}
		switch f.DefValue {
		case "", "false", "[]", "0", "0s":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		p.line(".TP\n%s\n%s", name, escape(usage))
	})
}

// seeAlso names the pages of the command above and of those below.
func (p *page) seeAlso(cmd *cobra.Command, below []*cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, Name(cmd.Parent()))
	}
	for _, c := range below {
		names = append(names, Name(c))
	}
	if len(names) == 0 {
		return
	}
	p.section("SEE ALSO")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.line(`.BR %s (1)%s`, escape(name), end)
	}
}

// escape has text stand as it is: man takes a backslash, a dot or a quote at the beginning of a
// line, and a hyphen that is to be copied for its own.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
