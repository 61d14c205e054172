package sign_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// A cursor decodes. It panics with a string on anything the format forbids; the
// trace says what the bytes were.
type cursor struct {
	b      []byte
	at     int
	trace  []string
	knows  byte // the newest format that the reader knows
	format byte // of the header
	needs  byte // the lowest format that its records need
}

// from reports whether the header has the fields of a format. One that is set needs the format.
func (c *cursor) from(format byte) bool { return c.format >= format }

func (c *cursor) need(format byte) { c.needs = max(c.needs, format) }

func (c *cursor) bool(what string) bool {
	b := c.byte(what)
	if b > 1 {
		panic(what + " is neither 0 nor 1")
	}
	return b == 1
}

// verdict reads what a decision or a vote says.
func (c *cursor) verdict() int {
	v := c.below(10, "verdict")
	if v > 6 {
		c.need(6)
	}
	return v
}

// story reads how long an attempt took and how many there were.
func (c *cursor) story() {
	if took, attempts := c.uint("took, milliseconds"), c.below(1<<32, "attempts"); took != 0 || attempts != 0 {
		c.need(3)
	}
}

func (c *cursor) take(n int, what string, show func([]byte) string) []byte {
	if n < 0 || n > len(c.b)-c.at {
		panic("truncated in " + what)
	}
	p := c.b[c.at : c.at+n]
	c.at += n
	c.trace = append(c.trace, fmt.Sprintf("%-36s %s", hexes(p), what+show(p)))
	return p
}

func hexes(p []byte) string {
	if len(p) > 11 {
		return fmt.Sprintf("% x ... (%d bytes)", p[:6], len(p))
	}
	return fmt.Sprintf("% x", p)
}

func none([]byte) string { return "" }

func (c *cursor) byte(what string) byte {
	return c.take(1, what, func(p []byte) string { return fmt.Sprintf(": %d", p[0]) })[0]
}

func (c *cursor) uint(what string) uint64 {
	u, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 || n > 1 && c.b[c.at+n-1] == 0 {
		panic("bad varint in " + what)
	}
	c.take(n, what, func([]byte) string { return fmt.Sprintf(": %d", u) })
	return u
}

func (c *cursor) below(limit uint64, what string) int {
	u := c.uint(what)
	if u >= limit {
		panic(fmt.Sprintf("%s is %d", what, u))
	}
	return int(u)
}

func (c *cursor) size(what string) int { return c.below(1<<40+1, what) }

func (c *cursor) str(what string, forbidden ...string) string {
	n, k := binary.Uvarint(c.b[c.at:])
	if k <= 0 || n > uint64(len(c.b)) || k > 1 && c.b[c.at+k-1] == 0 {
		panic("bad length of " + what)
	}
	p := c.take(k+int(n), what, func(p []byte) string { return fmt.Sprintf(": %q", p[k:]) })
	for _, f := range forbidden {
		if string(p[k:]) == f {
			panic(what + " in its long form")
		}
	}
	return string(p[k:])
}

func (c *cursor) list(what string, item func()) int {
	n := c.below(uint64(len(c.b)-c.at)+1, what)
	for range n {
		item()
	}
	return n
}

func (c *cursor) id(what string, prefix string, short byte) string {
	switch kind := c.byte(what + ", form"); kind {
	case short:
		p := c.take(16, what, none)
		s := hex.EncodeToString(p)
		if s[12] != '7' || p[8]&0xc0 != 0x80 {
			panic(what + " is not a version 7 UUID")
		}
		return prefix + strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
	case 1:
		return c.str(what)
	}
	panic("unknown form of " + what)
}

func or(s, zero string) string {
	if s == "" {
		return zero
	}
	return s
}

type (
	ref struct {
		name, codec string
		size        int
		last        uint64
	}
	change struct {
		ref
		op             byte
		prefix, suffix int
		pieces         []run
	}
	run struct {
		n, record, offset int
		back              uint64
	}
	record struct {
		kind      byte
		sealed    bool
		size      int
		sum       []byte
		id        string // of a checkpoint or gate
		parentSeq uint64
		parent    string
		branch    string
		revision  int
		manifest  uint64
		total     int
		changes   []change
		refs      []ref
		gateSeq   uint64
		prior     uint64
		takesBack uint64
		verdict   int
		fence     uint64
		unclaim   bool
		whole     bool
		count     int
		archived  int
		first     uint64
		base      []byte
		heads     map[string]uint64
		gates     []string
		name      string // of a signal
		signal    uint64 // the one before, or the one taken
	}
)

func (c *cursor) ref() ref {
	r := ref{name: c.str("part"), codec: or(c.str("codec", "json"), "json"), size: c.size("size of the value"), last: c.uint("last changed, entries back")}
	c.uint("last full, entries back")
	c.size("splices since")
	c.size("dead bytes")
	return r
}

func (c *cursor) checkpoint(r *record, thread string) {
	flags := c.uint("flags")
	r.id = c.id("id", "", 0)
	if c.below(13, "kind") == 12 {
		c.need(2)
	}
	c.below(8, "status")
	c.uint("step")
	c.size("size of the state")
	r.branch = "main"
	has := func(flag uint64) bool { return flags&flag != 0 }
	if flags >= 1<<17 || has(65536) && !c.from(3) {
		panic("unknown flags")
	}
	if has(1) {
		r.parent, r.parentSeq = c.id("parent", "", 0), c.uint("parent's entry")
		if r.parentSeq == 0 {
			panic("a parent in entry 0")
		}
	}
	if has(2) {
		c.str("coordination", "", thread)
	}
	if has(4) {
		r.branch = c.str("branch", "", "main")
	}
	for i, name := range []string{"run", "graph", "fingerprint", "node", "agent"} {
		if has(8 << i) {
			c.str(name, "")
		}
	}
	if has(256) && c.list("next nodes", func() { c.str("next") }) == 0 {
		panic("no next nodes")
	}
	if has(512) {
		c.str("source, thread")
		c.id("source", "", 0)
	}
	if last := ""; has(1024) {
		n := 0
		c.list("labels", func() {
			k := c.str("label")
			if c.str("its value"); n > 0 && k <= last {
				panic("labels out of order")
			}
			last = k
			n++
		})
		if n == 0 {
			panic("no labels")
		}
	}
	if has(2048) {
		c.str("by", "")
	}
	if has(4096) {
		c.str("error", "")
	}
	if has(8192) {
		c.uint("created at, zigzag nanoseconds")
	}
	if has(16384) {
		r.revision = c.below(1<<32, "revision")
		if r.revision == 0 {
			panic("revision 0")
		}
	}
	if has(32768) {
		c.take(16, "order key", none)
	}
	if has(65536) {
		if took, attempts := c.uint("took, milliseconds"), c.below(1<<32, "attempts"); took == 0 && attempts == 0 {
			panic("an empty story")
		}
		c.need(3)
	}
	c.parts(r)
}

// parts reads what a checkpoint says of the state's parts.
func (c *cursor) parts(r *record) {
	r.manifest, r.total = c.uint("manifest, entries back"), c.size("parts there are")
	c.list("changed parts", func() {
		ch := change{op: c.byte("op (0 full, 1 splice, 2 drop)")}
		ch.ref = c.ref()
		if ch.op == 1 {
			ch.prefix, ch.suffix = c.size("prefix"), c.size("suffix")
		}
		if ch.op < 2 {
			c.list("pieces", func() {
				p := run{n: c.size("bytes"), back: c.uint("from, entries back")}
				if p.back != 0 {
					p.record, p.offset = c.size("record"), c.size("offset")
				}
				ch.pieces = append(ch.pieces, p)
			})
		} else if ch.op > 2 {
			panic("unknown op")
		}
		r.changes = append(r.changes, ch)
	})
	if r.manifest == 0 {
		c.list("unchanged parts", func() { r.refs = append(r.refs, c.ref()) })
	}
}

func (c *cursor) record(thread string) *record {
	r := &record{kind: c.byte("record kind"), size: c.size("size of its body")}
	r.kind, r.sealed = r.kind&^128, r.kind&128 != 0
	if r.size > 0 {
		r.sum = c.take(32, "SHA-256 of its body", none)
	}
	switch r.kind {
	case 1:
		c.checkpoint(r, thread)
	case 2:
		c.str("task")
		c.str("name")
		c.below(1<<32, "occurrence")
		c.str("branch", "main")
		c.str("codec", "json")
		c.byte("effect")
		if c.from(2) {
			c.optionalGate("grant")
			if c.bool("taken along by a fork") {
				c.need(2)
			}
		}
		if c.from(3) {
			c.story()
		}
	case 3:
		r.id = c.id("gate", "gate-", 2)
		c.str("name")
		c.str("task")
		c.below(1<<32, "occurrence")
		c.str("branch", "main")
		c.uint("expires")
		c.uint("escalates")
		if kind := c.below(5, "kind (0 approval, 1 timer, 2 signal, 3 thread, 4 another)"); kind == 4 {
			c.str("kind", "", "approval", "timer", "signal", "thread")
		} else if kind == 2 {
			c.str("signal")
			c.byte("latch")
		}
		if c.from(2) {
			if c.bool("has a digest") {
				c.take(32, "digest of the content", none)
				c.need(2)
			}
			c.optionalGate("supersedes")
		}
		if c.from(4) && c.uint("first reminder") != 0 {
			c.need(4)
		}
		if c.from(6) && c.bool("settles") {
			c.need(6)
		}
	case 4:
		r.id, r.gateSeq, r.verdict = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.verdict()
		c.str("by")
	case 10:
		r.id, r.gateSeq, r.prior, r.verdict = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.uint("prior"), c.verdict()
		c.str("by")
	case 11:
		r.id, r.gateSeq, r.prior = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.uint("prior")
		c.str("by")
		escalation := c.bool("escalation")
		if !c.from(5) {
			break
		}
		r.takesBack = c.uint("takes back, entry")
		if r.takesBack != 0 {
			c.need(5)
		}
		if r.takesBack != 0 && (escalation || r.takesBack <= r.gateSeq || r.takesBack > r.prior) {
			panic("it takes back what is no delegation of the gate")
		}
	case 12:
		r.id = c.id("gate", "gate-", 2)
		c.byte("anyone")
		c.list("marks", func() { c.take(8, "mark", none) })
	case 5:
		c.str("owner")
		r.fence = c.uint("fence")
		c.str("run")
		r.unclaim = c.byte("unclaim") == 1
	case 6:
		c.str("reason")
		c.str("by")
		r.whole, r.count, r.archived = c.byte("whole") == 1, c.below(1<<32, "count"), c.below(1<<32, "archived")
		c.below(1<<32, "version")
		c.below(1<<32, "left")
		c.heads(r)
		c.list("gates", func() { r.gates = append(r.gates, c.id("gate", "gate-", 2)) })
	case 7:
		r.id, r.name = c.id("signal", "", 0), c.str("name")
		c.str("by")
		if c.byte("flags: 1 latches, 2 on behalf")&2 != 0 {
			c.list("requesters", func() { c.str("requester") })
		}
		r.branch, r.signal = c.str("branch"), c.uint("signal before")
	case 8:
		c.str("branch", "main")
		r.name, r.signal = c.str("name"), c.uint("its entry")
		if c.from(6) && c.bool("returned") {
			c.need(6)
			if c.bool("has a gate") {
				c.id("gate", "gate-", 2)
			}
		}
	case 9:
		r.first, r.base = c.uint("first entry"), c.take(32, "prev of the first entry", none)
		c.list("tags", func() { c.str("tag") })
		c.str("by")
		c.str("reason")
		c.byte("failed")
		r.fence, r.count = c.uint("fence"), c.below(1<<32, "checkpoints")
		c.heads(r)
	case 13:
		c.need(3)
		c.str("branch", "main")
		c.bool("has a line")
	case 14:
		c.need(4)
		r.id, r.gateSeq, r.prior = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.uint("prior")
		if c.below(4, "kind (0 reminder, 1 snooze, 2 unsnooze, 3 another)") == 3 {
			c.str("kind", "", "reminder", "snooze", "unsnooze")
		}
		c.str("by")
		c.uint("until")
	default:
		panic("unknown kind of record")
	}
	return r
}

func (c *cursor) heads(r *record) {
	r.heads = map[string]uint64{}
	c.list("heads", func() {
		b := or(c.str("branch", "main"), "main")
		c.id("head", "", 0)
		r.heads[b] = c.uint("its entry")
		c.below(8, "status")
	})
}

func (c *cursor) optionalGate(what string) {
	if c.bool("has " + what) {
		c.id(what, "gate-", 2)
		c.need(2)
	}
}

// header decodes section 3.
func (c *cursor) header(thread string) (records []*record) {
	c.format, c.needs = c.byte("format"), 1
	if c.format < 1 || c.format > c.knows {
		panic("unknown format")
	}
	c.uint("time, Unix milliseconds")
	c.list("records", func() { records = append(records, c.record(thread)) })
	if c.at != len(c.b) {
		panic("bytes left over")
	}
	if c.needs != c.format {
		panic("not the lowest format")
	}
	return records
}
