package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// This file is a verifier that was written from docs/format.md and uses nothing
// of Posthouse: it decodes, verifies and rebuilds the golden thread.

// A cursor decodes. It panics with a string on anything the format forbids; the
// trace says what the bytes were.
type cursor struct {
	b     []byte
	at    int
	trace []string
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
	c.below(11, "kind")
	c.below(8, "status")
	c.uint("step")
	c.size("size of the state")
	r.branch = "main"
	has := func(flag uint64) bool { return flags&flag != 0 }
	if flags >= 1<<16 {
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
		if r.revision = c.below(1<<32, "revision"); r.revision == 0 {
			panic("revision 0")
		}
	}
	if has(32768) {
		c.take(16, "order key", none)
	}
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
	case 4:
		r.id, r.gateSeq, r.verdict = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.below(7, "verdict")
		c.str("by")
	case 10:
		r.id, r.gateSeq, r.prior, r.verdict = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.uint("prior"), c.below(7, "verdict")
		c.str("by")
	case 11:
		r.id, r.gateSeq, r.prior = c.id("gate", "gate-", 2), c.uint("gate's entry"), c.uint("prior")
		c.str("by")
		c.byte("escalation")
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
		c.heads(r)
		c.list("gates", func() { r.gates = append(r.gates, c.id("gate", "gate-", 2)) })
	case 7:
		r.id, r.name = c.id("signal", "", 0), c.str("name")
		c.str("by")
		c.byte("latch")
		r.branch, r.signal = c.str("branch"), c.uint("signal before")
	case 8:
		c.str("branch", "main")
		r.name, r.signal = c.str("name"), c.uint("its entry")
	case 9:
		r.first, r.base = c.uint("first entry"), c.take(32, "prev of the first entry", none)
		c.list("tags", func() { c.str("tag") })
		c.str("by")
		c.str("reason")
		c.byte("failed")
		r.fence, r.count = c.uint("fence"), c.below(1<<32, "checkpoints")
		c.heads(r)
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

// header decodes section 3.
func (c *cursor) header(thread string) (records []*record) {
	if c.byte("format") != 1 {
		panic("unknown format")
	}
	c.uint("time, Unix milliseconds")
	c.list("records", func() { records = append(records, c.record(thread)) })
	if c.at != len(c.b) {
		panic("bytes left over")
	}
	return records
}

func uvarint(u uint64) []byte { return binary.AppendUvarint(nil, u) }

func domainHash(domain string, parts ...[]byte) []byte {
	b := append(uvarint(uint64(len(domain))), domain...)
	for _, p := range parts {
		b = append(append(b, uvarint(uint64(len(p)))...), p...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// An audit is a thread read by section 6.
type audit struct {
	g       *goldenFile
	records [][]*record // by entry, from 0
}

func newAudit(g *goldenFile) (a *audit, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	a = &audit{g: g}
	public, keyErr := x509.ParsePKIXPublicKey(g.PublicKey)
	if keyErr != nil {
		return nil, keyErr
	}
	spki := sha256.Sum256(g.PublicKey)
	keyID := "ed25519:" + hex.EncodeToString(spki[:8])
	prev, listed, absent, heads := make([]byte, 32), map[string]bool{}, []string{}, map[string]uint64{}
	gates, trail, decided, fence := map[string]uint64{}, map[string]uint64{}, map[string]bool{}, uint64(0)
	signals, newest := map[string]bool{}, map[string]uint64{}
	generation, first := uint32(1), 0
	for i, e := range g.Entries {
		fail := func(format string, args ...any) { panic(fmt.Sprintf("entry %d: ", i+1) + fmt.Sprintf(format, args...)) }
		hash := domainHash("posthouse/entry/1", []byte(g.Thread), append(uvarint(uint64(e.Generation)), uvarint(e.Seq)...), e.Prev, e.Header)
		if e.Seq != uint64(i+1) || e.Generation != generation || !bytes.Equal(e.Prev, prev) || !bytes.Equal(e.Hash, hash) {
			fail("it is not what was chained")
		}
		prev = hash
		if len(e.Sig) > 0 {
			s := &cursor{b: e.Sig}
			message := append(append(uvarint(21), "posthouse/signature/1"...), append(uvarint(32), hash...)...)
			if s.str("key id") != keyID || !ed25519.Verify(public.(ed25519.PublicKey), message, e.Sig[s.at:]) {
				fail("bad signature")
			}
			prev = domainHash("posthouse/link/1", hash, e.Sig)
		}
		records := (&cursor{b: e.Header}).header(g.Thread)
		a.records = append(a.records, records)
		if len(e.Bodies) != len(records) {
			fail("%d bodies", len(e.Bodies))
		}
		for j, r := range records {
			body := e.Bodies[j]
			if sum := sha256.Sum256(body); len(body) == 0 && r.size > 0 {
				absent = append(absent, fmt.Sprint(e.Seq, j))
			} else if len(body) != r.size || r.size > 0 && !bytes.Equal(sum[:], r.sum) {
				fail("body %d is damaged", j)
			}
			switch r.kind {
			case 1:
				if head, ok := heads[r.branch]; r.parentSeq != 0 && (a.checkpoint(r.parentSeq).id != r.parent || ok && r.revision == 0 && head != r.parentSeq) {
					fail("wrong parent")
				}
				heads[r.branch] = e.Seq
			case 3:
				gates[r.id] = e.Seq
			case 4:
				var content struct{ Trail uint64 }
				if gates[r.id] != r.gateSeq || decided[r.id] || json.Unmarshal(body, &content) != nil || content.Trail != trail[r.id] {
					fail("wrong decision")
				}
				decided[r.id] = true
			case 10, 11:
				if gates[r.id] != r.gateSeq || decided[r.id] || r.prior != trail[r.id] && trail[r.id] != e.Seq {
					fail("wrong vote or assignment")
				}
				trail[r.id] = e.Seq
			case 5:
				if r.unclaim != (r.fence == fence) || r.fence < fence {
					fail("wrong fence")
				}
				fence = r.fence
			case 6:
				var list struct {
					Checkpoints []struct{ ID string }
					Bodies      []struct{ Seq, Record uint64 }
				}
				if json.Unmarshal(body, &list) != nil || len(list.Checkpoints) != r.count+r.archived {
					fail("wrong list")
				}
				for _, b := range list.Bodies {
					listed[fmt.Sprint(b.Seq, b.Record)] = true
				}
				maps.Copy(heads, r.heads)
			case 7:
				if r.branch == "" && newest[r.name] != r.signal {
					fail("wrong signal")
				}
				newest[r.name], signals[fmt.Sprint(r.name, e.Seq)] = e.Seq, true
			case 8:
				if !signals[fmt.Sprint(r.name, r.signal)] {
					fail("wrong take")
				}
			case 9:
				if r.first != uint64(first+1) || !bytes.Equal(r.base, g.Entries[first].Prev) || !maps.Equal(r.heads, heads) || r.fence != fence || j != len(records)-1 {
					fail("wrong release")
				}
				clear(heads)
				clear(newest)
				generation, first = generation+1, i+1
			}
		}
	}
	for _, ref := range absent {
		if !listed[ref] {
			return nil, fmt.Errorf("body %s is lost", ref)
		}
	}
	return a, nil
}

func (a *audit) checkpoint(seq uint64) *record {
	for _, r := range a.records[seq-1] {
		if r.kind == 1 {
			return r
		}
	}
	panic(fmt.Sprintf("entry %d holds no checkpoint", seq))
}

// parts follows section 4.1: the entry that last changed each part.
func (a *audit) parts(seq uint64) map[string]uint64 {
	at, met := map[string]uint64{}, map[string]bool{}
	for {
		c := a.checkpoint(seq)
		for _, ch := range c.changes {
			if !met[ch.name] && ch.op != 2 {
				at[ch.name] = seq
			}
			met[ch.name] = true
		}
		for _, r := range c.refs {
			if !met[r.name] {
				at[r.name] = seq - r.last
			}
			met[r.name] = true
		}
		if c.manifest == 0 {
			return at
		}
		seq = c.parentSeq
	}
}

// value follows section 4.2.
func (a *audit) value(seq uint64, part string) (codec string, v []byte) {
	used := 0
	own := a.g.Entries[seq-1].Bodies[a.index(seq)]
	for _, ch := range a.checkpoint(seq).changes {
		var middle []byte
		for _, p := range ch.pieces {
			if p.back == 0 {
				middle = append(middle, own[used:used+p.n]...)
				used += p.n
			} else {
				middle = append(middle, a.g.Entries[seq-p.back-1].Bodies[p.record][p.offset:p.offset+p.n]...)
			}
		}
		if ch.name != part {
			continue
		}
		if ch.op == 1 {
			_, old := a.value(seq-ch.last, part)
			middle = bytes.Join([][]byte{old[:ch.prefix], middle, old[len(old)-ch.suffix:]}, nil)
		}
		if len(middle) != ch.size {
			panic("wrong size")
		}
		return ch.codec, middle
	}
	panic("not changed here")
}

func (a *audit) index(seq uint64) int {
	for i, r := range a.records[seq-1] {
		if r.kind == 1 {
			return i
		}
	}
	return -1
}

// TestFormatIsEnough verifies and rebuilds the golden thread by the document
// alone.
func TestFormatIsEnough(t *testing.T) {
	g := readGolden(t)
	a, err := newAudit(g)
	if err != nil {
		t.Fatal(err)
	}
	splices, refs, far, manifests := 0, 0, 0, 0
	for _, records := range a.records {
		for _, r := range records {
			for _, c := range r.changes {
				splices += int(c.op & 1)
				for _, p := range c.pieces {
					if p.back > 0 {
						refs++
					}
				}
			}
			if far += len(r.refs); r.kind == 1 && r.manifest == 0 {
				manifests++
			}
		}
	}
	if splices < 30 || refs < 5 || far == 0 || manifests < 2 {
		t.Errorf("the golden thread is too plain: %d splices, %d step references, %d unchanged parts in %d manifests", splices, refs, far, manifests)
	}
	for _, want := range g.States {
		at := a.parts(want.Seq)
		if meta, ok := at["$meta"]; ok != (len(want.Metadata) > 0) {
			t.Errorf("%s: metadata %v, want %v", want.ID, ok, want.Metadata)
		} else if ok {
			var m map[string]string
			if _, data := a.value(meta, "$meta"); json.Unmarshal(data, &m) != nil || !maps.Equal(m, want.Metadata) {
				t.Errorf("%s: metadata %v, want %v", want.ID, m, want.Metadata)
			}
			delete(at, "$meta")
		}
		delete(at, "$signals")
		if len(at) != len(want.State) {
			t.Errorf("%s has %d parts, want %d", want.ID, len(at), len(want.State))
		}
		for name, p := range want.State {
			codec, data := a.value(at[name], name)
			if sum := sha256.Sum256(data); codec != p.Codec || len(data) != p.Size || !bytes.Equal(sum[:], p.SHA256) {
				t.Errorf("%s part %s is %d bytes of %s, want %d of %s", want.ID, name, len(data), codec, p.Size, p.Codec)
			}
		}
	}
}

// TestFormatFindsDamage has the same verifier find every flipped byte.
func TestFormatFindsDamage(t *testing.T) {
	for i := range readGolden(t).Entries {
		for _, field := range []func(*goldenEntry) []byte{
			func(e *goldenEntry) []byte { return e.Header }, func(e *goldenEntry) []byte { return e.Prev },
			func(e *goldenEntry) []byte { return e.Hash }, func(e *goldenEntry) []byte { return e.Sig },
			func(e *goldenEntry) []byte { return bytes.Join(e.Bodies, nil) },
		} {
			g := readGolden(t)
			if p := field(&g.Entries[i]); len(p) > 0 {
				p[len(p)/2] ^= 1
				if b := g.Entries[i].Bodies; len(b) == 1 && len(p) == len(b[0]) {
					b[0] = p
				} else if len(b) > 1 {
					continue // joined bodies are a copy
				}
				if _, err := newAudit(g); err == nil {
					t.Errorf("entry %d: damage was not found", i+1)
				}
			}
		}
	}
}
