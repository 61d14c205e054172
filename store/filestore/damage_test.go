package filestore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/storetest"
)

// filled returns the disk of a store with the workload, closed or as a killed process
// leaves it, and what it shows.
func filled(t *testing.T, closed bool) (*disk, string) {
	t.Helper()
	d := newDisk()
	s, err := openOn(t.Context(), d, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), s, storetest.NewModel(), workload()); err != nil {
		t.Fatal(err)
	}
	text, err := content(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	left := d
	if !closed {
		s.drains.wait()
		left = d.clone()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left, text
}

// verdict opens a store and says whether it found damage, and what it shows.
func verdict(ctx context.Context, t *testing.T, d *disk, what string) (found bool, text string) {
	t.Helper()
	s, err := openOn(ctx, d, false)
	if err != nil {
		if !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrNewer) {
			t.Errorf("%s: Open: %v", what, err)
		}
		return true, ""
	}
	defer func() { _ = s.Close() }()
	for err := range s.Check(ctx) {
		if !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("%s: Check: %v", what, err)
		}
		found = true
	}
	text, err = content(ctx, s)
	if err != nil && !found {
		t.Errorf("%s: reading fails, and Check did not: %v", what, err)
	}
	return found, text
}

// TestEveryFlippedByte changes each byte of a closed store's files: it is found when the
// store is opened or checked.
func TestEveryFlippedByte(t *testing.T) {
	ctx := t.Context()
	base, want := filled(t, true)
	tally := damage.Begin(t)
	step := 1
	if testing.Short() {
		step = damage.Step(7)
	}
	for _, name := range append(base.logsOf(), formatName) {
		for at := 0; at < len(base.names[name].data); at += step {
			d := base.clone()
			b := slices.Clone(base.names[name].data)
			b[at] ^= 1 << (at % 8)
			d.names[name].data = b
			if found, text := verdict(ctx, t, d, name); found {
				tally.Found("flipped")
			} else {
				tally.Served("flipped", "%s: byte %d is changed, and nobody notices (other content: %v)", name, at, text != want)
			}
		}
	}
	if found, text := verdict(ctx, t, base, "as it was"); found || text != want {
		t.Error("the undamaged store is not what it was")
	}
}

// TestEveryTruncation cuts each file of a closed store at every length, and takes it
// away: all is found.
func TestEveryTruncation(t *testing.T) {
	ctx := t.Context()
	base, want := filled(t, true)
	tally := damage.Begin(t)
	step := 1
	if testing.Short() {
		step = damage.Step(7)
	}
	for _, name := range append(base.logsOf(), formatName) {
		for size := -1; size < len(base.names[name].data); size += step {
			d := base.clone()
			if size < 0 {
				delete(d.names, name)
			} else {
				d.names[name].data = d.names[name].data[:size]
			}
			if found, text := verdict(ctx, t, d, name); found {
				tally.Found("cut off")
			} else {
				tally.Served("cut off", "%s: cut at byte %d, and nobody notices (other content: %v)", name, size, text != want)
			}
		}
	}
}

// TestTornJournal cuts the journal of a killed process at every byte, or flips one: of
// the newest segment the last commit may be missing, and never one before it.
func TestTornJournal(t *testing.T) {
	ctx := t.Context()
	base, want := filled(t, false)
	numbers, err := (&directory{system: base}).segments()
	if err != nil {
		t.Fatal(err)
	}
	name := segmentFile(numbers[len(numbers)-1])
	whole := base.names[name].data
	tally := damage.Begin(t)
	for at := range whole {
		for kind, flip := range map[string]bool{"journal cut off": false, "journal flipped": true} {
			d := base.clone()
			b := slices.Clone(whole)
			if b[at] ^= 16; !flip {
				b = whole[:at]
			}
			d.names[name].data = b
			found, text := verdict(ctx, t, d, name)
			switch {
			case found:
				tally.Found(kind)
			case text == want:
				tally.Served(kind, "byte %d, flip %v: all is as it was", at, flip)
			default:
				if line := other(text, want); line != "" {
					tally.Served(kind, "byte %d, flip %v: it serves %s", at, flip, line)
				} else {
					tally.Older(kind) // as if the commit had never been acknowledged
				}
			}
		}
	}
}

// other returns an entry of a text that another text does not have.
func other(text, want string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `{"Thread"`) && !strings.Contains(want, line) {
			return line
		}
	}
	return ""
}

// TestLogsFromAnotherTime puts older logs, logs of other threads and logs in double in
// the place of a store's.
func TestLogsFromAnotherTime(t *testing.T) {
	ctx := t.Context()
	base, _ := filled(t, true)
	old := newDisk()
	s, err := openOn(ctx, old, false)
	if err != nil {
		t.Fatal(err)
	}
	all := workload()
	if _, err := run(ctx, s, storetest.NewModel(), all[:len(all)/2]); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tally := damage.Begin(t)
	try := func(kind, what string, d *disk) {
		t.Helper()
		if found, _ := verdict(ctx, t, d, what); found {
			tally.Found(kind)
		} else {
			tally.Served(kind, "%s is not noticed", what)
		}
	}
	names := base.logsOf()
	for i, name := range names {
		if n := old.names[name]; n != nil && !bytes.Equal(n.data, base.names[name].data) && !strings.HasPrefix(name, journalDir) {
			d := base.clone()
			d.names[name] = n
			try("older", "an older "+name, d)
		}
		d := base.clone()
		d.names[name] = base.names[names[(i+1)%len(names)]]
		try("in another's place", names[(i+1)%len(names)]+" in the place of "+name, d)
		d = base.clone()
		d.names[name].data = slices.Concat(d.names[name].data, d.names[name].data)
		try("in double", name+" twice", d)
	}
}
