// Command damage damages a small store of each kind in every byte, and records what the stores made
// of it: make damage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/internal/proof/record"
)

// A config is what the flags say.
type config struct {
	stores, record, doc, commit string
	again, page                 bool
	now                         func() time.Time
}

func main() {
	c := config{now: time.Now}
	flag.StringVar(&c.stores, "stores", "", "which stores, as in file,sqlite; default: all")
	flag.BoolVar(&c.again, "again", false, "try stores that the record has at this commit, too")
	flag.StringVar(&c.record, "record", damage.Record, "the file to append to")
	flag.StringVar(&c.doc, "doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	flag.BoolVar(&c.page, "page", false, "write the page anew, and try nothing")
	flag.StringVar(&c.commit, "commit", "", "what the record says was tried; default: git describe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "damage:", err)
		os.Exit(1)
	}
}

func (c *config) run(ctx context.Context) error {
	if c.page {
		return c.quote()
	}
	if c.commit == "" {
		var err error
		c.commit, err = tried(ctx)
		if err != nil {
			return fmt.Errorf("%w; say -commit", err)
		}
	}
	stores, err := c.chosen()
	if err != nil {
		return err
	}
	for _, s := range stores {
		if err := c.one(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// tried names the commit. This command's own changes do not make it dirty, so that the
// next run skips what this one has tried.
func tried(ctx context.Context) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w", err)
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!docs/record", ":!docs/guarantees/records.md").Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	name := strings.TrimSpace(string(commit))
	if len(changed) > 0 {
		name += "-dirty"
	}
	return name, nil
}

// chosen returns the stores that are asked for and not on record at this commit.
func (c *config) chosen() (some []damage.Store, err error) {
	lines, err := record.Read[damage.Line](c.record)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(c.stores, ",") {
		names[name] = true
	}
	for _, s := range damage.Stores() {
		asked := c.stores == "" || names[s.Name]
		delete(names, s.Name)
		done := slices.ContainsFunc(lines, func(l damage.Line) bool { return l.Store == s.Name && l.Commit == c.commit })
		if asked && (c.again || !done) {
			some = append(some, s)
		}
	}
	if c.stores != "" && len(names) > 0 {
		return nil, fmt.Errorf("no tests of %v", slices.Collect(maps.Keys(names)))
	}
	return some, nil
}

// one makes a line of the record.
func (c *config) one(ctx context.Context, s damage.Store) error {
	line, err := damage.Run(ctx, s, func(text string) { fmt.Printf("%s %s: %s\n", c.now().Format("15:04:05"), s.Name, text) })
	if line == nil {
		return err
	}
	line.Date, line.Commit = c.now().UTC().Format(time.DateOnly), c.commit
	return errors.Join(err, record.Append(c.record, line), c.quote())
}

// quote writes the newest lines of the record into the page.
func (c *config) quote() error {
	if c.doc == "" {
		return nil
	}
	lines, err := record.Read[damage.Line](c.record)
	if err != nil {
		return err
	}
	return record.Quote(c.doc, damage.Record, damage.Table(lines))
}
