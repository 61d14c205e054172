package main

import "github.com/posthouse/posthouse/worker"

// A Batch is how many items there are to handle, a Report what came of them.
type (
	Batch  struct{ Items int }
	Report struct{ Items, Skipped, Attempts int }
)

// resize returns the handler. Each item that is done is kept before the next one begins, so
// the attempt after a crash begins with the item that the crash interrupted.
//
// One number is enough here, because items are done in order. Where they are not, keep the
// list of those that are done: what Save is given is up to you, up to 1 MiB.
func resize(one func(item int) error) func(worker.Task, Batch) (Report, error) {
	return func(t worker.Task, b Batch) (Report, error) {
		skipped, _, err := worker.Load[int](t) // nothing is kept before the first: 0
		if err != nil {
			return Report{}, err
		}
		for item := skipped; item < b.Items; item++ {
			if err := one(item); err != nil {
				return Report{}, err // the next attempt begins with this item
			}
			if err := worker.Save(t, item+1); err != nil {
				return Report{}, err
			}
		}
		return Report{Items: b.Items, Skipped: skipped, Attempts: t.Attempt()}, nil
	}
}
