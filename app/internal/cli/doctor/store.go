package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/internal/base/build"
)

// stored opens the store to read, and compares its newest entry with the clock.
func (x *examination) stored(ctx context.Context) {
	const check = "store"
	x.built()
	url, dir, err := x.store.Address()
	if err != nil {
		x.failed(check, err)
		return
	}
	shown := address.Redacted(url)
	if strings.HasPrefix(url, "memory:") {
		x.add(check, Note, "", "it is in memory, and gone when the server ends")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	store, err := (&host.Source{URL: url, Dir: dir, Open: x.env.Open, ReadOnly: true, AllowWeak: true}).OpenStore(ctx)
	switch {
	case errors.Is(err, posthouse.ErrNotFound) && x.isNew:
		x.add(check, Note, "posthouse serve makes it", "there is no "+shown+" yet")
		return
	case err != nil:
		x.failed(check, err)
		return
	}
	err = x.look(ctx, store, shown)
	if err := errors.Join(err, store.Close()); err != nil {
		x.failed(check, err)
	}
}

func (x *examination) look(ctx context.Context, store posthouse.Store, shown string) error {
	if w, ok := store.(posthouse.Weaker); ok {
		weak, err := w.Weak(ctx)
		if err != nil {
			return err
		}
		for _, said := range weak {
			x.add("store", Warning, "change the setting of the server; until then serve needs --allow-weak-store", "it may lose what it acknowledged: "+said)
		}
	}
	for info, err := range store.Threads(ctx, posthouse.ThreadQuery{Newest: true, Limit: 1}) {
		if err != nil {
			return err
		}
		if at := time.UnixMilli(int64(info.Updated)); at.After(x.now.Add(clockLimit)) {
			x.add("clock", Fault, "set the clock: entries would be dated before those that are there", "the newest entry is of "+tree.Time(at)+", and it is "+tree.Time(x.now))
		}
	}
	x.ok("store", shown+" can be read")
	return nil
}

// clockLimit is how far clocks may differ.
const clockLimit = 30 * time.Second

// built compares the clock with the time that this binary was built from.
func (x *examination) built() {
	at, err := time.Parse(time.RFC3339, build.Read("").Time)
	if err == nil && x.now.Before(at.Add(-24*time.Hour)) {
		x.add("clock", Fault, "set the clock", "it is "+tree.Time(x.now)+", before this binary was made")
		return
	}
	x.ok("clock", "it is "+tree.Time(x.now))
}
