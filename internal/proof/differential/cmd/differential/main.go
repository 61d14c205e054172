// Command differential gives all kinds of stores the same random operations, compares what they
// answer, and records what it found: make differential.
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

	"github.com/posthouse/posthouse/internal/proof/differential"
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
	c := config{now: time.Now}
	flag.StringVar(&c.stores, "stores", "", "which stores are compared with the one in memory; default: all")
	flag.IntVar(&c.goal, "goal", 10_000, "how many sequences the record is to have")
	flag.IntVar(&c.more, "more", 0, "play so many, whatever the record has")
	flag.IntVar(&c.part, "part", 1000, "sequences for each line of the record")
	flag.Uint64Var(&c.seed, "seed", 0, "of the first sequence; 0: any")
	flag.StringVar(&c.record, "record", differential.Record, "the file to append to")
	flag.StringVar(&c.doc, "doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	flag.BoolVar(&c.page, "page", false, "write the page anew, and run nothing")
	flag.StringVar(&c.commit, "commit", "", "what the record says was tried; default: git describe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
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
	for done := 0; ctx.Err() == nil; {
		lines, err := record.Read[differential.Line](c.record)
		if err != nil {
			return err
		}
		have := 0
		for _, l := range lines {
			have += l.Sequences
		}
		left := c.goal - have
		if c.more > 0 {
			left = c.more - done
		}
		if left <= 0 {
			return nil
		}
		n, err := c.one(ctx, min(left, c.part))
		if done += n; err != nil {
			return err
		}
	}
	return nil
}

// quote writes the sums of the record into the page.
func (c *config) quote() error {
	if c.doc == "" {
		return nil
	}
	lines, err := record.Read[differential.Line](c.record)
	if err != nil {
		return err
	}
	return record.Quote(c.doc, differential.Record, differential.Table(lines))
}

// one makes a line of the record.
func (c *config) one(ctx context.Context, n int) (done int, err error) {
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var kinds []string
	if c.stores != "" {
		kinds = strings.Split(c.stores, ",")
	}
	s, err := differential.Start(dir, kinds...)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	say := func(format string, a ...any) { fmt.Printf(c.now().Format("15:04:05 ")+format+"\n", a...) }
	say("%d sequences from seed %d on %v; not installed: %v", n, c.seed, s.Names, s.Missing)
	line, err := s.Part(ctx, n, c.seed, say)
	c.seed += uint64(n)
	if line.Sequences == 0 {
		return 0, err
	}
	line.Date, line.Commit = c.now().UTC().Format(time.DateOnly), c.commit
	err = errors.Join(err, record.Append(c.record, line), c.quote())
	say("%+v", *line)
	if line.Differences > 0 {
		err = errors.Join(err, fmt.Errorf("%d batches differ", line.Differences))
	}
	return line.Sequences, err
}
