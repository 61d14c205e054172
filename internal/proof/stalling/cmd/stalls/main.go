// Command stalls cuts processes off from shared stores for longer than their leases, and
// appends what it found to the record:
//
//	go run ./internal/proof/stalling/cmd/stalls -stalls 1000 -stores postgres,redis -seed 7
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/internal/proof/stalling/trial"
)

func main() {
	site.Serving()
	trial.Frozen()
	stalls := flag.Int("stalls", 1000, "how many for each store")
	lanes := flag.Int("lanes", 8, "how many at once")
	seed := flag.Uint64("seed", 0, "of what is drawn; 0: any")
	stores := flag.String("stores", "", "such as postgres,redis; empty: all shared ones, and sqlite, over which processes are frozen")
	path := flag.String("record", trial.Record, "the file to append to; empty: none")
	page := flag.String("doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	only := flag.Bool("page", false, "write the page, and run nothing")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 32)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	if !*only {
		err = run(ctx, &trial.Config{Stalls: *stalls, Concurrency: *lanes, Seed: *seed, Now: time.Now}, *stores, *path)
	}
	if *path != "" && *page != "" {
		err = errors.Join(err, quote(*path, *page))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stalls:", err)
		os.Exit(1)
	}
}

// run tries each store, its control arm first, and records a line for each.
func run(ctx context.Context, c *trial.Config, stores, path string) error {
	fmt.Println("seed", c.Seed)
	commit := ""
	if path != "" {
		var err error
		commit, err = record.Commit(ctx, ".")
		if err != nil {
			return err
		}
	}
	var failed error
	for _, k := range site.Kinds() {
		try := trial.Run
		if k.Name == "sqlite" {
			try = trial.RunFrozen
		} else if !k.Shared {
			continue
		}
		if stores != "" && !slices.Contains(strings.Split(stores, ","), k.Name) {
			continue
		}
		if !k.Installed() {
			return fmt.Errorf("the server of %s is not installed", k.Name)
		}
		bad, good := *c, *c
		bad.Kind, bad.Stalls, bad.Control = k, 40, true
		arm, err := try(ctx, &bad)
		if arm == nil || arm.Violations == 0 {
			return errors.Join(errors.New("the control arm was not caught: the trial cannot see what it is for"), err)
		}
		good.Kind, good.Progress = k, func(done int) {
			if done%100 == 0 {
				fmt.Println(k.Name, done)
			}
		}
		line, err := try(ctx, &good)
		if err != nil {
			return err
		}
		line.Date, line.Commit, line.Control = c.Now().UTC().Format(time.DateOnly), commit, arm.Violations
		fmt.Printf("%+v\n", *line)
		if path != "" {
			if err := record.Append(path, line); err != nil {
				return err
			}
		}
		if found := line.Bad(); len(found) > 0 {
			failed = errors.Join(failed, errors.New(strings.Join(found, "\n")))
		}
	}
	return failed
}

// quote writes the record's table into the page.
func quote(path, page string) error {
	lines, err := record.Read[trial.Line](path)
	if err != nil {
		return err
	}
	return record.Quote(page, trial.Record, trial.Table(lines))
}
