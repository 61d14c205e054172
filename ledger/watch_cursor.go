package ledger

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// insideMark begins the Ledger's part of a cursor. Stores do not use the byte.
const insideMark = "~"

// An insideCursor says that a watch is in the middle of an entry. It names the entry,
// since a store continues after a cursor and cannot return earlier entries.
type insideCursor struct {
	behind string // the entry's own cursor
	seen   int    // events of the entry, so far
	thread string
	seq    uint64
	hash   [4]byte // the beginning of the entry's hash: it tells a thread that was deleted and started over
}

func (c *insideCursor) String() string {
	return c.behind + insideMark + strings.Join([]string{
		strconv.Itoa(c.seen), strconv.FormatUint(c.seq, 10), hex.EncodeToString(c.hash[:]), base64.RawURLEncoding.EncodeToString([]byte(c.thread)),
	}, ".")
}

// parseInside parses what String wrote. Any other cursor is the store's.
func parseInside(s string) (*insideCursor, bool) {
	i := strings.LastIndex(s, insideMark)
	if i < 0 {
		return nil, false
	}
	fields := strings.Split(s[i+len(insideMark):], ".")
	if len(fields) != 4 {
		return nil, false
	}
	seen, errSeen := strconv.Atoi(fields[0])
	seq, errSeq := strconv.ParseUint(fields[1], 10, 64)
	hash, errHash := hex.DecodeString(fields[2])
	thread, errThread := base64.RawURLEncoding.Strict().DecodeString(fields[3])
	c := &insideCursor{behind: s[:i], seen: seen, thread: string(thread), seq: seq}
	if errSeen != nil || errSeq != nil || errHash != nil || errThread != nil || len(hash) != len(c.hash) || seen < 1 || seq < 1 {
		return nil, false
	}
	copy(c.hash[:], hash)
	return c, true
}

// entry reads the entry that the cursor is inside of, or nil if it was removed.
func (c *insideCursor) entry(ctx context.Context, s posthouse.Store) (*posthouse.Entry, error) {
	for e, err := range s.Read(ctx, c.thread, posthouse.Range{Seqs: []uint64{c.seq}}) {
		if err != nil || [4]byte(e.Hash[:4]) != c.hash {
			return nil, err
		}
		e.Cursor = c.behind
		return e, nil
	}
	return nil, nil
}
