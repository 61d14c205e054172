package trial

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// An ack is what a child said was durable: a checkpoint, a decision, or a slot.
//
//	checkpoint ID HASH
//	decision GATE VERDICT
//	slot THREAD STEP REVISION HASH
type ack struct {
	kind, id, step, hash string
	revision             uint64
}

// unknownHash is of an ack that was made before the commit.
const unknownHash = "-"

func (a ack) String() string {
	if a.kind == "slot" {
		return fmt.Sprintf("slot %s %s %d %s", a.id, a.step, a.revision, a.hash)
	}
	return fmt.Sprintf("%s %s %s", a.kind, a.id, a.hash)
}

// parseAck reads a line of a child. It is false for other lines, and for one that was cut
// off.
func parseAck(line string) (a ack, ok bool) {
	f := strings.Fields(line)
	switch {
	case len(f) == 4 && f[0] == "checkpoint" && f[3] == ".":
		return ack{kind: f[0], id: f[1], hash: f[2]}, true
	case len(f) == 4 && f[0] == "decision" && f[3] == ".":
		return ack{kind: f[0], id: f[1], hash: f[2]}, true
	case len(f) == 6 && f[0] == "slot" && f[5] == ".":
		revision, err := strconv.ParseUint(f[3], 10, 64)
		return ack{kind: f[0], id: f[1], step: f[2], revision: revision, hash: f[4]}, err == nil
	}
	return ack{}, false
}

func hashOf(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:8])
}

// check returns what is wrong with what was acknowledged: lost says that it is not there,
// the error that it could not be read.
func (a ack) check(ctx context.Context, l *ledger.Ledger) (lost bool, err error) {
	switch a.kind {
	case "checkpoint":
		c, err := l.Get(ctx, posthouse.ID(a.id))
		if err != nil {
			return errors.Is(err, posthouse.ErrNotFound), err
		}
		return a.hash != unknownHash && c.Hash.String() != a.hash, nil
	case "decision":
		g, err := l.Gate(ctx, posthouse.ID(a.id))
		if err != nil {
			return errors.Is(err, posthouse.ErrNotFound), err
		}
		return g.Decision == nil || string(g.Decision.Verdict) != a.hash, nil
	default:
		s, err := l.Store().Slot(ctx, posthouse.SlotKey{Thread: a.id, Step: a.step}, posthouse.SlotOp{})
		if err != nil {
			return errors.Is(err, posthouse.ErrNotFound), err
		}
		return s.Revision < a.revision || s.Revision == a.revision && hashOf(s.Value) != a.hash, nil
	}
}

// readAcks reads the acknowledgements of earlier rounds. Of a slot the newest counts.
func readAcks(path string) ([]ack, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []ack
	slots := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		a, ok := parseAck(lines.Text())
		if !ok {
			return nil, fmt.Errorf("trial: %s has the line %q", path, lines.Text())
		}
		if a.kind == "slot" {
			if i, ok := slots[a.id+" "+a.step]; ok {
				if all[i].revision < a.revision {
					all[i] = a
				}
				continue
			}
			slots[a.id+" "+a.step] = len(all)
		}
		all = append(all, a)
	}
	return all, lines.Err()
}
