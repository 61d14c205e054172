package audit

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/server/internal/api"
)

// The formats of an export.
const (
	formatLines = "jsonl"
	formatCSV   = "csv"
)

// chunk is how many acts are held back until it is known what signature covers them.
const chunk = 500

// A writer writes acts in one format.
type writer interface {
	act(*Act) error
	end(acts int) error
}

// lines are JSON, an act a line.
type lines struct{ enc *json.Encoder }

func (l lines) act(a *Act) error { return l.enc.Encode(a) }

func (l lines) end(acts int) error {
	return l.enc.Encode(struct {
		End  bool `json:"end"`
		Acts int  `json:"acts"`
	}{true, acts})
}

// A table is CSV, for people and spreadsheets.
type table struct{ csv *csv.Writer }

// columns are the names in the first line of a table.
var columns = []string{"at", "by", "sent by", "did", "what", "reason", "kind", "thread", "entry", "signature", "covered by entry", "question", "copy of", "hash"}

func (t table) act(a *Act) error {
	number := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatUint(n, 10)
	}
	row := []string{
		a.At.UTC().Format(time.RFC3339Nano), a.By, a.Actor, a.Did, a.What, a.Reason, a.Kind, a.Thread, number(a.Seq),
		a.Coverage, number(a.CoveredBy), string(a.Gate), a.CopyOf, a.Hash.String(),
	}
	for i := range row {
		row[i] = plain(row[i])
	}
	return t.csv.Write(row)
}

func (t table) end(acts int) error {
	if err := t.csv.Write([]string{"end", strconv.Itoa(acts)}); err != nil {
		return err
	}
	t.csv.Flush()
	return t.csv.Error()
}

// plain returns a text that no spreadsheet takes for a formula.
func plain(s string) string {
	if strings.IndexAny(s, "=+-@\t\r") == 0 {
		return "'" + s
	}
	return s
}

// export writes all acts, one a line.
func (a *Audit) export(w http.ResponseWriter, r *api.Request) error {
	ctx, cancel := a.life.Bound(r.Context())
	defer cancel()
	of, err := a.walk(ctx, r)
	if err != nil {
		return err
	}
	out := &exporting{w: w, now: a.now, csv: r.Query["format"] == formatCSV}
	var held []*Act
	flush := func() error {
		if err := of.cover(); err != nil {
			return err
		}
		for _, act := range held {
			if err := out.act(act); err != nil {
				return err
			}
		}
		held = held[:0]
		return nil
	}
	for act, err := range of.acts() {
		if err == nil && act.Record != nil {
			held = append(held, act)
			if len(held) < chunk && len(of.pending) > 0 {
				continue
			}
			err = flush()
		}
		if err != nil {
			return out.fail(err)
		}
	}
	if err := flush(); err != nil {
		return out.fail(err)
	}
	return out.end()
}

// exporting is an answer. Its headers go out with the first act, so that a failure before that is a problem.
type exporting struct {
	w    http.ResponseWriter
	now  func() time.Time
	csv  bool
	to   writer // nil: nothing was written
	acts int
	gone bool // the client has left
}

func (x *exporting) begin() error {
	_ = http.NewResponseController(x.w).SetWriteDeadline(x.now().Add(api.WriteTimeout)) // not supported by test recorders, which never block
	if x.to != nil {
		return nil
	}
	media, name := "application/x-ndjson", "audit.jsonl"
	if x.csv {
		media, name = "text/csv; charset=utf-8", "audit.csv"
	}
	x.w.Header().Set("Content-Type", media)
	x.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	x.w.WriteHeader(http.StatusOK)
	if !x.csv {
		enc := json.NewEncoder(x.w)
		enc.SetEscapeHTML(false)
		x.to = lines{enc}
		return nil
	}
	t := table{csv.NewWriter(x.w)}
	x.to = t
	return t.csv.Write(columns)
}

func (x *exporting) act(a *Act) error {
	err := x.begin()
	if err == nil {
		err = x.to.act(a)
	}
	x.gone = err != nil
	x.acts++
	return err
}

func (x *exporting) end() error {
	if err := x.begin(); err != nil {
		return x.fail(err)
	}
	return x.to.end(x.acts)
}

// fail ends an answer that cannot go on. Half a trail must not look like a whole one.
func (x *exporting) fail(err error) error {
	if x.to == nil {
		return err
	}
	api.NoteError(x.w, err)
	if x.gone {
		return nil
	}
	panic(http.ErrAbortHandler)
}
