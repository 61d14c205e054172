package sign_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
)

// fields calls visit for every byte of every stored field of an entry; calling
// flip changes it in the copy.
func fields(e *posthouse.Entry, visit func(field string, i int, flip func())) {
	raw := func(field string, b []byte) {
		for i := range b {
			visit(field, i, func() { b[i] ^= 1 << (i % 8) })
		}
	}
	raw("header", e.Header)
	raw("hash", e.Hash[:])
	raw("prev", e.Prev[:])
	raw("sig", e.Sig)
	for i, b := range e.Bodies {
		raw(label("body", i), b)
	}
	for bit := range 64 {
		visit("seq", bit, func() { e.Seq ^= 1 << bit })
	}
	for bit := range 32 {
		visit("generation", bit, func() { e.Generation ^= 1 << bit })
	}
	for i := range e.Thread {
		visit("thread", i, func() {
			b := []byte(e.Thread)
			b[i] ^= 1
			e.Thread = string(b)
		})
	}
}

// TestEveryFlippedByteIsFoundAndNamed is guarantee 8 against a store that shows
// one changed byte of one field of one entry.
func TestEveryFlippedByteIsFoundAndNamed(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	ring := ringOf(t, key)
	flips := map[string]int{}
	for _, thread := range threadsOf(t, f.store) {
		for n, original := range readAll(f.store, thread) {
			fields(cloneEntries([]*posthouse.Entry{original})[0], func(field string, i int, _ func()) {
				if testing.Short() && i%8 != 0 {
					return
				}
				flips[field]++
				s := &tampered{Store: f.store, log: func(name string, es []*posthouse.Entry) []*posthouse.Entry {
					if name != thread {
						return es
					}
					es = cloneEntries(es)
					fields(es[n], func(g string, j int, flip func()) {
						if g == field && j == i {
							flip()
						}
					})
					return es
				}}
				r := verify(t, s, ring, &sign.VerifyOptions{Thread: thread})
				named := slices.ContainsFunc(r.Faults, func(f sign.Fault) bool {
					at := f.Seq <= original.Seq && original.Seq <= max(f.Seq, f.Through)
					return f.Thread == thread && (at || field == "seq" && f.Seq == original.Seq^1<<i)
				})
				if !named {
					t.Errorf("thread %s entry %d: %s %d flipped: %v", thread, original.Seq, field, i, r.Faults)
				}
			})
		}
	}
	t.Logf("flips by field, all found: %v", flips)
}

// TestSignatureBytesAddedAreFound has an unsigned entry get a signature.
func TestSignatureBytesAddedAreFound(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, nil)
	for _, sig := range [][]byte{{0}, {1, 'x', 2}, posthouse.JoinSignature(key.KeyID(), make([]byte, 64)), make([]byte, 300)} {
		s := mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
			es[1].Sig = sig
			return es
		})
		r := verify(t, s, ringOf(t, key), &sign.VerifyOptions{Thread: "order-1"})
		wantFault(t, r, "", "order-1", 2)
	}
}

// mutate shows the thread's log as change returns it.
func mutate(store posthouse.Store, thread string, change func([]*posthouse.Entry) []*posthouse.Entry) *tampered {
	return &tampered{Store: store, log: func(name string, es []*posthouse.Entry) []*posthouse.Entry {
		if name != thread {
			return es
		}
		return change(cloneEntries(es))
	}}
}

func TestDroppedSwappedReplayedEntriesAreFound(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	ring := ringOf(t, key)
	all := readAll(f.store, "order-1")
	check := func(name string, kind sign.FaultKind, seq uint64, change func([]*posthouse.Entry) []*posthouse.Entry) {
		t.Run(name, func(t *testing.T) {
			r := verify(t, mutate(f.store, "order-1", change), ring, nil)
			wantFault(t, r, kind, "order-1", seq)
		})
	}
	for i := range all {
		check(label("drop", i+1), sign.FaultMissing, uint64(i+1), func(es []*posthouse.Entry) []*posthouse.Entry {
			return slices.Delete(es, i, i+1)
		})
		check(label("replay at the end", i+1), sign.FaultChain, uint64(i+1), func(es []*posthouse.Entry) []*posthouse.Entry {
			return append(es, es[i])
		})
		if i == 0 {
			continue
		}
		check(label("swap", i, "and", i+1), "", 0, func(es []*posthouse.Entry) []*posthouse.Entry {
			es[i-1], es[i] = es[i], es[i-1]
			return es
		})
		check(label("swap the content of", i, "and", i+1), sign.FaultHash, uint64(i+1), func(es []*posthouse.Entry) []*posthouse.Entry {
			es[i-1].Seq, es[i].Seq = es[i].Seq, es[i-1].Seq
			es[i-1], es[i] = es[i], es[i-1]
			return es
		})
		check(label("put", i, "in place of", i+1), sign.FaultHash, uint64(i+1), func(es []*posthouse.Entry) []*posthouse.Entry {
			c := *es[i-1]
			c.Seq = es[i].Seq
			es[i] = &c
			return es
		})
	}
	check("drop the last two", sign.FaultMissing, uint64(len(all)-1), func(es []*posthouse.Entry) []*posthouse.Entry { return es[:len(es)-2] })
	check("drop all", sign.FaultMissing, 1, func([]*posthouse.Entry) []*posthouse.Entry { return nil })
	check("reverse", "", 0, func(es []*posthouse.Entry) []*posthouse.Entry {
		slices.Reverse(es)
		return es
	})
}

// TestMovedEntryIsFound moves an entry, hash and signature included, to another
// thread, place and generation.
func TestMovedEntryIsFound(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	hand := readAll(f.store, "hand")
	move := func(change func(*posthouse.Entry)) posthouse.Store {
		return mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
			change(es[3])
			return es
		})
	}
	r := verify(t, move(func(e *posthouse.Entry) { *e = *hand[3] }), ringOf(t, key), nil)
	wantFault(t, r, sign.FaultChain, "order-1", 4)
	r = verify(t, move(func(e *posthouse.Entry) { *e = *hand[3]; e.Thread = "order-1" }), ringOf(t, key), nil)
	wantFault(t, r, sign.FaultHash, "order-1", 4)
	r = verify(t, move(func(e *posthouse.Entry) { e.Generation++ }), ringOf(t, key), nil)
	wantFault(t, r, sign.FaultHash, "order-1", 4)
	r = verify(t, move(func(e *posthouse.Entry) { e.Seq++ }), ringOf(t, key), nil)
	wantFault(t, r, sign.FaultMissing, "order-1", 4)
	// A generation of its own, hashed again, does not continue the thread's.
	s := rewrite(f.store, "order-1", func(es []*posthouse.Entry) {
		for _, e := range es {
			e.Sig = nil
		}
		es[5].Generation = 9
	})
	wantFault(t, verify(t, s, nil, nil), sign.FaultChain, "order-1", 6)
}

func TestBodiesThatWentAreFound(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	for n, e := range readAll(f.store, "order-1") {
		for i, b := range e.Bodies {
			if len(b) == 0 {
				continue
			}
			s := mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
				es[n].Bodies[i] = nil
				return es
			})
			r := verify(t, s, ringOf(t, key), nil)
			wantFault(t, r, sign.FaultMissing, "order-1", e.Seq)
			if f := r.Faults[0]; f.Record != i {
				t.Errorf("entry %d record %d: the fault names record %d", e.Seq, i, f.Record)
			}
		}
		s := mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
			es[n].Bodies = append(es[n].Bodies, []byte("more"))
			return es
		})
		wantFault(t, verify(t, s, nil, nil), sign.FaultBody, "order-1", e.Seq)
		s = mutate(f.store, "order-1", func(es []*posthouse.Entry) []*posthouse.Entry {
			es[n].Bodies = nil
			return es
		})
		wantFault(t, verify(t, s, nil, nil), sign.FaultBody, "order-1", e.Seq)
	}
	// The record that attests a removal loses its list: what it lists is then
	// missing as well.
	var removal, removed uint64
	for _, e := range readAll(f.store, "hand") {
		recs := must.Get(e.Records())(t)
		for i, r := range recs {
			if r.Removal != nil {
				removal = e.Seq
			}
			if r.Size > 0 && len(e.Bodies[i]) == 0 {
				removed = e.Seq
			}
		}
	}
	s := mutate(f.store, "hand", func(es []*posthouse.Entry) []*posthouse.Entry {
		es[removal-1].Bodies[0] = nil
		return es
	})
	r := verify(t, s, ringOf(t, key), nil)
	wantFault(t, r, sign.FaultMissing, "hand", removal)
	wantFault(t, r, sign.FaultMissing, "hand", removed)
}

func TestDerivedRowsAreCompared(t *testing.T) {
	f := fillStore(t, nil)
	thread := func(change func(*posthouse.ThreadInfo)) posthouse.Store {
		return &tampered{Store: f.store, summary: func(i *posthouse.ThreadInfo) *posthouse.ThreadInfo {
			if i.Thread == "order-1" {
				change(i)
			}
			return i
		}}
	}
	for name, change := range map[string]func(*posthouse.ThreadInfo){
		"status":       func(i *posthouse.ThreadInfo) { i.Status = posthouse.StatusFailed },
		"graph":        func(i *posthouse.ThreadInfo) { i.Graph = "other" },
		"coordination": func(i *posthouse.ThreadInfo) { i.Coordination = "other" },
		"head":         func(i *posthouse.ThreadInfo) { i.Branches[0].Head = i.Branches[1].Head },
		"no branch":    func(i *posthouse.ThreadInfo) { i.Branches = i.Branches[:1] },
		"no gates":     func(i *posthouse.ThreadInfo) { i.Waiting = nil },
		"gate":         func(i *posthouse.ThreadInfo) { i.Waiting[0].Seq++ },
		"due":          func(i *posthouse.ThreadInfo) { i.Due = 1 },
		"lease":        func(i *posthouse.ThreadInfo) { i.Lease.Fence = 9 },
		"checkpoints":  func(i *posthouse.ThreadInfo) { i.Checkpoints++ },
		"signed":       func(i *posthouse.ThreadInfo) { i.Signed = 1 },
		"created":      func(i *posthouse.ThreadInfo) { i.Created++ },
		"generation":   func(i *posthouse.ThreadInfo) { i.Generation++ },
		"hash":         func(i *posthouse.ThreadInfo) { i.Tail.Hash[0]++ },
		"link":         func(i *posthouse.ThreadInfo) { i.Link[0]++ },
		"behind":       func(i *posthouse.ThreadInfo) { i.Tail.Seq -= 2 },
	} {
		t.Run(name, func(t *testing.T) {
			wantFault(t, verify(t, thread(change), nil, nil), sign.FaultSummary, "order-1", 0)
		})
	}
	wantFault(t, verify(t, thread(func(i *posthouse.ThreadInfo) { i.Tail.Seq += 2 }), nil, nil), sign.FaultMissing, "order-1", 0)

	index := func(s *tampered) *sign.Report {
		s.Store = f.store
		return verify(t, s, nil, nil)
	}
	r := index(&tampered{find: func(id posthouse.ID, ref posthouse.Ref) (posthouse.Ref, error) {
		if id == f.head {
			return ref, posthouse.ErrNotFound
		}
		return ref, nil
	}})
	wantFault(t, r, sign.FaultIndex, "order-1", 0)
	r = index(&tampered{find: func(id posthouse.ID, ref posthouse.Ref) (posthouse.Ref, error) {
		if id == f.head {
			ref.Seq = 1
		}
		return ref, nil
	}})
	wantFault(t, r, sign.FaultIndex, "order-1", 0)
	r = index(&tampered{list: func(h *posthouse.Header) *posthouse.Header {
		if h.ID == f.head {
			return nil
		}
		return h
	}})
	wantFault(t, r, sign.FaultIndex, "order-1", 0)
	r = index(&tampered{list: func(h *posthouse.Header) *posthouse.Header {
		if h.ID == f.head {
			h.Labels = map[string]string{"tier": "lead"}
		}
		return h
	}})
	wantFault(t, r, sign.FaultIndex, "order-1", 0)
	r = index(&tampered{list: func(h *posthouse.Header) *posthouse.Header {
		if h.ID == f.head {
			h.ID = "other"
		}
		return h
	}})
	wantFault(t, r, sign.FaultIndex, "order-1", 0)
}

// TestUnreadableEntries has the store itself find an entry damaged: the others
// are still verified.
func TestUnreadableEntries(t *testing.T) {
	f := fillStore(t, nil)
	n := len(readAll(f.store, "order-1"))
	broken := &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "a frame does not decompress"}
	for _, bad := range [][]uint64{{1}, {3}, {uint64(n)}, {2, 3, 5}} {
		s := &tampered{Store: f.store, fail: func(thread string, seq uint64) error {
			if thread == "order-1" && slices.Contains(bad, seq) {
				return broken
			}
			return nil
		}}
		r := verify(t, s, nil, &sign.VerifyOptions{Thread: "order-1"})
		for _, seq := range bad {
			wantFault(t, r, sign.FaultStore, "order-1", seq)
		}
		if len(r.Faults) != len(bad) || r.Entries != n-len(bad) {
			t.Errorf("%v: %d entries read of %d, faults %v", bad, r.Entries, n, r.Faults)
		}
	}
	// Any other failure is not about the store's content.
	s := &tampered{Store: f.store, fail: func(string, uint64) error { return posthouse.ErrUnknown }}
	if _, err := sign.Verify(t.Context(), s, nil, nil); !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("a lost connection: %v", err)
	}
}

// TestEveryFieldOfAListedHeaderIsCompared changes each field of a header in
// turn, whatever fields there will be.
func TestEveryFieldOfAListedHeaderIsCompared(t *testing.T) {
	f := fillStore(t, nil)
	for i := range reflect.TypeFor[posthouse.Header]().NumField() {
		name := reflect.TypeFor[posthouse.Header]().Field(i).Name
		alter(t, reflect.ValueOf(new(posthouse.Header)).Elem().Field(i)) // a type that it does not know ends the test here
		s := &tampered{Store: f.store, list: func(h *posthouse.Header) *posthouse.Header {
			if h.ID == f.head {
				alter(t, reflect.ValueOf(h).Elem().Field(i))
			}
			return h
		}}
		r := verify(t, s, nil, &sign.VerifyOptions{Thread: "order-1"})
		if r.OK() {
			t.Errorf("another %s in a list is not found", name)
		}
	}
}

// alter makes a value another one of its type.
func alter(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = x.Add(1)
		return
	case **posthouse.Source:
		*x = &posthouse.Source{Thread: "other"}
		return
	case *map[string]string:
		*x = map[string]string{"other": "label"}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Array:
		v.Index(0).SetUint(v.Index(0).Uint() ^ 1)
	default:
		t.Fatalf("a field of type %s: say here how to change it", v.Type())
	}
}
