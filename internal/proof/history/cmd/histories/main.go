// Command histories makes histories of clients on every kind of store, checks that they are
// linearizable, and records what it found: make histories.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/history"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// A config is what the flags say.
type config struct {
	stores, record, doc, commit string
	goal, more, part            int
	seed                        uint64
	page                        bool
	now                         func() time.Time
}

func main() {
	site.Serving()
	history.Working()
	c := config{now: time.Now}
	var names []string
	for _, k := range site.Kinds() {
		names = append(names, k.Name)
	}
	flag.StringVar(&c.stores, "stores", strings.Join(names, ","), "which stores")
	flag.IntVar(&c.goal, "goal", 100, "how many histories of each store the record is to have")
	flag.IntVar(&c.more, "more", 0, "make so many, whatever the record has")
	flag.IntVar(&c.part, "part", 50, "histories for each line of the record")
	flag.Uint64Var(&c.seed, "seed", 0, "of the first history; 0: any")
	flag.StringVar(&c.record, "record", history.Record, "the file to append to")
	flag.StringVar(&c.doc, "doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	flag.BoolVar(&c.page, "page", false, "write the page anew, and run nothing")
	flag.StringVar(&c.commit, "commit", "", "what the record says was tried; default: git describe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

func (c *config) run(ctx context.Context) error {
	if c.page {
		return c.quote()
	}
	if c.commit == "" {
		out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
		if err != nil {
			return fmt.Errorf("git describe: %w; say -commit", err)
		}
		c.commit = strings.TrimSpace(string(out))
	}
	if c.seed == 0 {
		c.seed = rand.Uint64N(1 << 32)
	}
	var bad error
	for name := range strings.SplitSeq(c.stores, ",") {
		k := site.Find(name)
		if k == nil {
			return fmt.Errorf("there is no store %q", name)
		}
		bad = errors.Join(bad, c.store(ctx, k))
	}
	return bad
}

// quote writes the sums of the record into the page.
func (c *config) quote() error {
	if c.doc == "" {
		return nil
	}
	lines, err := record.Read[history.Line](c.record)
	if err != nil {
		return err
	}
	return record.Quote(c.doc, history.Record, history.Table(lines))
}

// store makes histories with one kind of store until the record has enough.
func (c *config) store(ctx context.Context, k *site.Kind) error {
	for done := 0; ctx.Err() == nil; {
		lines, err := record.Read[history.Line](c.record)
		if err != nil {
			return err
		}
		have := 0
		for _, l := range lines {
			if l.Store == k.Name {
				have += l.Histories
			}
		}
		left := c.goal - have
		if c.more > 0 {
			left = c.more - done
		}
		if left <= 0 {
			return nil
		}
		n, err := c.one(ctx, k, min(left, c.part))
		if done += n; err != nil {
			return err
		}
	}
	return nil
}

// one makes a line of the record.
func (c *config) one(ctx context.Context, k *site.Kind, n int) (done int, err error) {
	dir, err := os.MkdirTemp("", "histories")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := k.Start(dir)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	say := func(format string, a ...any) { fmt.Printf(c.now().Format("15:04:05 ")+format+"\n", a...) }
	say("%s: %d histories from seed %d", k.Name, n, c.seed)
	line, err := history.Part(ctx, s, n, c.seed, say)
	c.seed += uint64(n)
	if line.Histories == 0 {
		return 0, err
	}
	line.Date, line.Commit = c.now().UTC().Format(time.DateOnly), c.commit
	err = errors.Join(err, record.Append(c.record, line), c.quote(), line.Bad())
	say("%+v", *line)
	return line.Histories, err
}
