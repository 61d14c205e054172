// Command powercut cuts the power of stores, or kills their processes, and records what they lose:
// make powercut, make kills.
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/powercut"
	"github.com/posthouse/posthouse/internal/proof/powercut/trial"
	"github.com/posthouse/posthouse/internal/proof/record"
)

// A config is what the flags say.
type config struct {
	stores, record, doc, keep, commit string
	models                            string
	kills, page                       bool
	goal, more, part                  int
	seed                              uint64
	now                               func() time.Time
}

func main() {
	if trial.IsChild() {
		signal.Ignore(os.Interrupt) // the parent decides
		os.Exit(trial.Child())
	}
	c := config{now: time.Now}
	var names []string
	for _, s := range trial.Stores() {
		names = append(names, s.Name)
	}
	flag.StringVar(&c.stores, "stores", strings.Join(names, ","), "which stores")
	flag.StringVar(&c.models, "models", "ext4,strict", "which models of names, in turn")
	flag.BoolVar(&c.kills, "kills", false, "kill processes instead of cutting the power")
	flag.IntVar(&c.goal, "goal", 1000, "how many rounds of each store the record is to have")
	flag.IntVar(&c.more, "more", 0, "run so many, whatever the record has")
	flag.IntVar(&c.part, "part", 250, "rounds for each line of the record")
	flag.Uint64Var(&c.seed, "seed", 0, "of the first part; 0: any")
	flag.StringVar(&c.record, "record", trial.Record, "the file to append to")
	flag.StringVar(&c.doc, "doc", "docs/guarantees/records.md", "the page that quotes the record; empty: none")
	flag.BoolVar(&c.page, "page", false, "write the page anew, and run nothing")
	flag.StringVar(&c.keep, "keep", "", "a directory for disks that lost something")
	flag.StringVar(&c.commit, "commit", "", "what the record says was tried; default: git describe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
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
		s := trial.Find(name)
		if s == nil {
			return fmt.Errorf("there is no store %q", name)
		}
		if err := c.store(ctx, s); err != nil {
			bad = errors.Join(bad, err)
		}
	}
	return bad
}

// quote writes the sums of the record into the page.
func (c *config) quote() error {
	if c.doc == "" {
		return nil
	}
	lines, err := record.Read[trial.Line](c.record)
	if err != nil {
		return err
	}
	return record.Quote(c.doc, trial.Record, trial.Table(lines))
}

// store runs parts with one store until the record has enough.
func (c *config) store(ctx context.Context, s *trial.Store) error {
	harness, models := trial.Power, strings.Split(c.models, ",")
	if c.kills {
		harness, models = trial.Kill, []string{""}
	}
	for done := 0; ctx.Err() == nil && s.Tries(harness); {
		lines, err := record.Read[trial.Line](c.record)
		if err != nil {
			return err
		}
		have, of := 0, map[string]int{} // models
		for _, l := range lines {
			if l.Store == s.Name && l.Harness == harness {
				have += l.Cuts + l.Kills
				of[l.Model] += l.Cuts
			}
		}
		model := slices.MinFunc(models, func(a, b string) int { return of[a] - of[b] })
		left := c.goal - have
		if c.more > 0 {
			left = c.more - done
		}
		if left <= 0 {
			return nil
		}
		p := trial.Part{Store: s, Harness: harness, Model: powercut.Model(model), Rounds: min(left, c.part), Seed: c.seed}
		c.seed++
		fmt.Printf("%s %s %s: %d rounds with seed %d, %d are on record\n", s.Name, harness, p.Model, p.Rounds, p.Seed, have)
		line, err := c.one(ctx, &p)
		if line != nil {
			done += line.Cuts + line.Kills
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one runs a part and records it.
func (c *config) one(ctx context.Context, p *trial.Part) (*trial.Line, error) {
	line, err := p.Run(ctx, &trial.Options{Keep: c.keep, Progress: func(format string, a ...any) {
		fmt.Printf(c.now().Format("15:04:05 ")+format+"\n", a...)
	}})
	if line == nil || line.Cuts+line.Kills == 0 {
		return line, err
	}
	line.Date, line.Commit = c.now().UTC().Format(time.DateOnly), c.commit
	if rerr := record.Append(c.record, line); rerr != nil {
		return line, errors.Join(err, rerr)
	}
	err = errors.Join(err, c.quote())
	fmt.Printf("%s %s: %d cuts, %d kills, %d acknowledged, %d lost, %d corrupt\n", line.Store, line.Model, line.Cuts, line.Kills, line.Acknowledged, line.Lost, line.Corrupt)
	if line.Lost+line.Corrupt > 0 && p.Store.Promises(p.Model) {
		err = errors.Join(err, fmt.Errorf("%s lost %d of what it acknowledged, and was damaged %d times", line.Store, line.Lost, line.Corrupt))
	}
	return line, err
}
