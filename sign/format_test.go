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
// of Posthouse: it decodes, verifies and rebuilds the golden threads.

// newest is the newest format that the verifier knows.
const newest = 6

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

	generation uint32
	first      int // of the generation's entries, from 0
	fence      uint64
	heads      map[string]uint64 // entries, by branch
	gates      map[string]uint64
	trail      map[string]uint64 // the newest vote, assignment or notice, by gate
	handed     map[string]bool   // assignments, by gate and entry
	decided    map[string]bool
	newest     map[string]uint64 // signals, by name
	signals    map[string]bool
	listed     map[string]bool // bodies that a removal names
}

func newAudit(g *goldenFile) (a *audit, err error) { return auditUpTo(g, newest) }

// auditUpTo reads as a verifier does that knows formats up to one.
func auditUpTo(g *goldenFile, format byte) (a *audit, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	a = &audit{
		g: g, generation: 1, heads: map[string]uint64{}, gates: map[string]uint64{}, trail: map[string]uint64{}, decided: map[string]bool{}, handed: map[string]bool{},
		newest: map[string]uint64{}, signals: map[string]bool{}, listed: map[string]bool{},
	}
	public, keyErr := x509.ParsePKIXPublicKey(g.PublicKey)
	if keyErr != nil {
		return nil, keyErr
	}
	spki := sha256.Sum256(g.PublicKey)
	keyID := "ed25519:" + hex.EncodeToString(spki[:8])
	prev, absent := make([]byte, 32), []string{}
	for i, e := range g.Entries {
		fail := func(format string, args ...any) { panic(fmt.Sprintf("entry %d: ", i+1) + fmt.Sprintf(format, args...)) }
		hash := domainHash("posthouse/entry/1", []byte(g.Thread), append(uvarint(uint64(e.Generation)), uvarint(e.Seq)...), e.Prev, e.Header)
		if e.Seq != uint64(i+1) || e.Generation != a.generation || !bytes.Equal(e.Prev, prev) || !bytes.Equal(e.Hash, hash) {
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
		records := (&cursor{b: e.Header, knows: format}).header(g.Thread)
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
			a.record(e.Seq, r, body, j == len(records)-1, fail)
		}
	}
	for _, ref := range absent {
		if !a.listed[ref] {
			return nil, fmt.Errorf("body %s is lost", ref)
		}
	}
	return a, nil
}

// record fails where a record contradicts those before it.
func (a *audit) record(seq uint64, r *record, body []byte, last bool, fail func(string, ...any)) {
	switch r.kind {
	case 1:
		if head, ok := a.heads[r.branch]; r.parentSeq != 0 && (a.checkpoint(r.parentSeq).id != r.parent || ok && r.revision == 0 && head != r.parentSeq) {
			fail("wrong parent")
		}
		a.heads[r.branch] = seq
	case 3:
		a.gates[r.id] = seq
	case 4:
		var content struct{ Trail uint64 }
		if a.gates[r.id] != r.gateSeq || a.decided[r.id] || !r.sealed && (json.Unmarshal(body, &content) != nil || content.Trail != a.trail[r.id]) {
			fail("wrong decision")
		}
		a.decided[r.id] = true
	case 10, 11, 14:
		if r.takesBack != 0 && !a.handed[fmt.Sprint(r.id, r.takesBack)] {
			fail("it takes back what was not handed on")
		}
		a.handed[fmt.Sprint(r.id, seq)] = r.kind == 11
		if a.gates[r.id] != r.gateSeq || a.decided[r.id] || r.prior != a.trail[r.id] && a.trail[r.id] != seq {
			fail("wrong vote, assignment or notice")
		}
		a.trail[r.id] = seq
	case 5:
		if r.unclaim != (r.fence == a.fence) || r.fence < a.fence {
			fail("wrong fence")
		}
		a.fence = r.fence
	case 6:
		var list struct {
			Checkpoints []struct{ ID string }
			Bodies      []struct{ Seq, Record uint64 }
		}
		if json.Unmarshal(body, &list) != nil || len(list.Checkpoints) != r.count+r.archived {
			fail("wrong list")
		}
		for _, b := range list.Bodies {
			a.listed[fmt.Sprint(b.Seq, b.Record)] = true
		}
		maps.Copy(a.heads, r.heads)
	case 7:
		if !strings.HasPrefix(r.name, "$") && a.newest[r.name] != r.signal {
			fail("wrong signal")
		}
		a.newest[r.name], a.signals[fmt.Sprint(r.name, seq)] = seq, true
	case 8:
		if !a.signals[fmt.Sprint(r.name, r.signal)] {
			fail("wrong take")
		}
	case 9:
		if r.first != uint64(a.first+1) || !bytes.Equal(r.base, a.g.Entries[a.first].Prev) || !maps.Equal(r.heads, a.heads) || r.fence != a.fence || !last {
			fail("wrong release")
		}
		clear(a.heads)
		clear(a.newest)
		a.generation, a.first = a.generation+1, int(seq)
	}
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
	a.wantStates(t)
}

// wantStates rebuilds what the file says the thread's checkpoints are.
func (a *audit) wantStates(t *testing.T) {
	t.Helper()
	for _, want := range a.g.States {
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
		delete(at, "$requesters")
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
	findsDamage(t, readGolden)
}

func findsDamage(t *testing.T, read func(testing.TB) *goldenFile) {
	t.Helper()
	for i := range read(t).Entries {
		for _, field := range []func(*goldenEntry) []byte{
			func(e *goldenEntry) []byte { return e.Header }, func(e *goldenEntry) []byte { return e.Prev },
			func(e *goldenEntry) []byte { return e.Hash }, func(e *goldenEntry) []byte { return e.Sig },
			func(e *goldenEntry) []byte { return bytes.Join(e.Bodies, nil) },
		} {
			g := read(t)
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
