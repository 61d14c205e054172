// Command chaos runs workflows on several processes, kills, freezes and restarts
// everything at random, and appends what it found to the record:
//
//	go run ./internal/proof/chaos/cmd/chaos -runs 10000 -seed 7
//
// The line names a commit, so a work tree that has changes is refused; -record "" runs there,
// too, and keeps nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/chaos"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
)

func main() {
	site.Serving()
	chaos.Child()
	c := chaos.Config{Now: time.Now}
	c.Progress = func(format string, a ...any) { fmt.Printf(c.Now().Format("15:04:05 ")+format+"\n", a...) }
	flag.IntVar(&c.Runs, "runs", 10_000, "how many runs")
	flag.DurationVar(&c.For, "for", 0, "begin no run later than that; 0: begin all")
	flag.IntVar(&c.Engines, "engines", 2, "processes that own the programs")
	flag.IntVar(&c.Workers, "workers", 4, "processes that handle tasks")
	flag.Uint64Var(&c.Seed, "seed", 0, "of what is disturbed; 0: any")
	path := flag.String("record", chaos.Record, "the file to append to; empty: none")
	page := flag.String("doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	anew := flag.Bool("page", false, "write the page anew, and run nothing")
	flag.Parse()
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1 << 32)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	if *anew {
		err = quote(*path, *page)
	} else {
		err = run(ctx, &c, *path, *page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// run runs the control arm and the trial, and records both in one line.
func run(ctx context.Context, c *chaos.Config, path, page string) error {
	fmt.Println("seed", c.Seed)
	commit := ""
	if path != "" {
		var err error
		commit, err = record.Commit(ctx, ".")
		if err != nil {
			return err
		}
	}
	arm, err := chaos.Run(ctx, &chaos.Config{Runs: 32, Seed: c.Seed, Calm: true, Control: true, Now: c.Now})
	if err != nil {
		return err
	}
	if unseen := arm.Unseen(); len(unseen) > 0 {
		return errors.New("the control arm was not caught, the trial cannot see what it is for: " + strings.Join(unseen, "; "))
	}
	line, err := chaos.Run(ctx, c)
	if err != nil {
		return err
	}
	line.Date, line.Commit = c.Now().UTC().Format(time.DateOnly), commit
	line.Convict(arm)
	fmt.Println(line)
	if path != "" {
		if err := record.Append(path, line); err != nil {
			return err
		}
	}
	if path != "" && page != "" {
		if err := quote(path, page); err != nil {
			return err
		}
	}
	if bad := line.Bad(); len(bad) > 0 {
		return errors.New(strings.Join(bad, "\n"))
	}
	return nil
}

// quote writes the record's table into the page.
func quote(path, page string) error {
	lines, err := record.Read[chaos.Line](path)
	if err != nil {
		return err
	}
	return record.Quote(page, chaos.Record, chaos.Table(lines))
}
