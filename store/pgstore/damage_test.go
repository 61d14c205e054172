package pgstore_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// tables are those of threads: what names a row, and what else it has. Slots are in
// TestDamagedSlots.
var tables = []struct {
	name      string
	key, rest []string
}{
	{"threads", []string{"id"}, []string{"seq", "watch", "due", "gates", "live", "hash", "state"}},
	{"entries", []string{"thread", "seq"}, []string{"watch", "generation", "kept", "prev", "hash", "sig", "header", "gone", "bodies"}},
	{"ids", []string{"id"}, []string{"thread", "seq", "coordination", "order_key", "terms"}},
	{"gates", []string{"list", "gate", "thread"}, nil},
}

// A vandal changes rows of a small store, and looks what the store then says.
type vandal struct {
	*testing.T
	s      *pgstore.Store
	c      *pgx.Conn
	before string
	tally  *damage.Tally
	same   map[string]int // what is read as before, by place
}

// change runs a statement, which the server may refuse, and reports whether it did anything.
func (v *vandal) change(sql string, args ...any) bool {
	tag, err := v.c.Exec(v.Context(), inSchema(v.T, sql), args...)
	return err == nil && tag.RowsAffected() > 0
}

func (v *vandal) try(kind, what string) {
	v.Helper()
	switch after, err := storetest.Dump(v.T.Context(), v.s); {
	case err == nil && after != v.before:
		v.tally.Served(kind, "%s %s: served as if nothing had happened", kind, what)
	case err == nil:
		v.tally.Same(kind)
		v.same[kind+" "+what]++
	default:
		v.tally.Found(kind)
	}
}

// TestMisplacedRows flips bytes of each value, a sample or all of them, cuts
// values off, swaps rows, sets them back to what they were earlier and removes them. It
// is found by who reads everything, or changes nothing of what is read.
func TestMisplacedRows(t *testing.T) {
	v := &vandal{T: t, s: open(t, pgstore.Options{}), c: connect(t, pgtest.URL(t)), tally: damage.Begin(t), same: map[string]int{}}
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("t0"), b.Log("t1")}
	for _, l := range logs {
		servertest.Take(t, v.s, l, l.Checkpoint(posthouse.Header{Run: "r", Labels: map[string]string{"a": "b"}}, "state"), l.Step("s", []byte("result")))
	}
	v.save("older")
	for _, l := range logs {
		h := l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Coordination: "desk"}, "waits")
		servertest.Take(t, v.s, l, h, l.Gate(b.GateID(), b.Now().Add(1e9)))
	}
	v.save("saved")
	var err error
	v.before, err = storetest.Dump(t.Context(), v.s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tables {
		v.values(i)
		v.rows(i)
	}
	if after, err := storetest.Dump(t.Context(), v.s); err != nil || after != v.before {
		t.Errorf("set back: %v", err)
	}
	t.Logf("read as before: %v", v.same)
	for _, kind := range []string{"flipped", "cut off", "swapped", "older", "removed"} {
		if v.tally.Of(kind).Found == 0 {
			t.Errorf("nothing that was %s was found", kind)
		}
	}
}

// save copies the tables as they are.
func (v *vandal) save(as string) {
	for _, tb := range tables {
		run(v.T, v.c, "CREATE TEMP TABLE "+as+"_"+tb.name+" AS TABLE posthouse."+tb.name)
	}
}

// places returns where the rows of a table are.
func (v *vandal) places(table string) []string {
	rows, err := v.c.Query(v.Context(), inSchema(v.T, "SELECT ctid::text FROM "+table+" ORDER BY ctid"))
	if err != nil {
		v.Fatal(err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		v.Fatal(err)
	}
	return places
}

// values changes each value of each row of a table.
func (v *vandal) values(i int) {
	tb, step := tables[i], 29
	if testing.Short() {
		step = 97
	}
	step = damage.Step(step)
	table := "posthouse." + tb.name
	for _, place := range v.places(table) {
		for _, column := range append(tb.key, tb.rest...) {
			if tb.name == "threads" && column == "id" {
				continue // always generated
			}
			var have any
			if err := v.c.QueryRow(v.Context(), inSchema(v.T, "SELECT "+column+" FROM "+table+" WHERE ctid = $1::text::tid"), place).Scan(&have); err != nil {
				v.Fatal(err)
			}
			with := func(kind string, changed any) {
				const set = "UPDATE %s SET %s = $1 WHERE ctid = $2::text::tid RETURNING ctid::text"
				sql, at := inSchema(v.T, fmt.Sprintf(set, table, column)), ""
				if v.c.QueryRow(v.Context(), sql, changed, place).Scan(&at) != nil {
					return // a key refuses it
				}
				v.try(kind, tb.name+"."+column)
				if err := v.c.QueryRow(v.Context(), sql, have, at).Scan(&place); err != nil {
					v.Fatal(err)
				}
			}
			switch x := have.(type) {
			case []byte:
				for at := 0; at < len(x); at += step {
					changed := bytes.Clone(x)
					changed[at] ^= 1 << (at % 8)
					with("flipped", changed)
					with("cut off", x[:at])
				}
			case int64:
				for bit := 0; bit < 62; bit += min(step, 13) {
					with("flipped", x^1<<bit)
				}
			case int32:
				for bit := 0; bit < 30; bit += min(step, 7) {
					with("flipped", x^1<<bit)
				}
			case bool:
				with("flipped", !x)
			case []any:
				if len(x) > 0 {
					with("cut off", x[1:])
				}
			}
		}
	}
}

// rows removes, replays and swaps whole rows of a table.
func (v *vandal) rows(i int) {
	tb := tables[i]
	table, saved, older := "posthouse."+tb.name, "saved_"+tb.name, "older_"+tb.name
	var same []string
	for _, k := range tb.key {
		same = append(same, "x."+k+" = r."+k)
	}
	where := strings.Join(same, " AND ")
	drop := func(from, place string) bool {
		return v.change("DELETE FROM "+table+" x USING "+from+" r WHERE r.ctid = $1::text::tid AND "+where, place)
	}
	insert := func(from, place string) bool {
		return v.change("INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT * FROM "+from+" WHERE ctid = $1::text::tid", place)
	}
	must := func(done bool) {
		v.Helper()
		if !done {
			v.Fatalf("table %s: the statement did nothing", tb.name)
		}
	}
	places := v.places(saved)
	for _, place := range places {
		must(drop(saved, place))
		v.try("removed", tb.name)
		must(insert(saved, place))
	}
	for _, place := range v.places(older) {
		if drop(older, place) { // else the row is gone by now
			must(insert(older, place))
			v.try("older", tb.name)
			must(drop(older, place))
			must(v.change("INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT x.* FROM "+saved+" x, "+older+" r WHERE r.ctid = $1::text::tid AND "+where, place))
		}
	}
	if len(tb.rest) == 0 {
		return
	}
	set := func(place, like string) {
		v.Helper()
		columns, values := strings.Join(tb.rest, ", "), "l."+strings.Join(tb.rest, ", l.")
		must(v.change("UPDATE "+table+" x SET ("+columns+") = ("+"SELECT "+values+" FROM "+saved+" l WHERE l.ctid = $2::text::tid) FROM "+
			saved+" r WHERE r.ctid = $1::text::tid AND "+where, place, like))
	}
	for i, one := range places {
		for _, other := range places[i+1:] {
			set(one, other)
			set(other, one)
			v.try("swapped", tb.name)
			set(one, one)
			set(other, other)
		}
	}
}
