// Command fill makes a SQLite store with a crowd in it; see package crowd.
package main

import (
	"context"
	"errors"
	"flag"
	"log"

	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/crowd"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func main() {
	threads := flag.Int("threads", 100_000, "how many threads")
	checkpoints := flag.Int("checkpoints", 10_000, "of the thread long; 0 is no such thread")
	branches := flag.Int("branches", 40, "of the thread long, beside main")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the file of the store, as in: fill /tmp/crowd/posthouse.db")
	}
	if err := fill(context.Background(), flag.Arg(0), *threads, *checkpoints, *branches); err != nil {
		log.Fatal(err)
	}
}

func fill(ctx context.Context, path string, threads, checkpoints, branches int) error {
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = crowd.Threads(ctx, l, threads)
	if err == nil && checkpoints > 0 {
		err = crowd.Long(ctx, l, "long", checkpoints, branches)
	}
	return errors.Join(err, l.Close(), store.Close())
}
