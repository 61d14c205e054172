package baseline_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/baseline"
	_ "modernc.org/sqlite"
)

// BenchmarkDrivers holds the direct API against database/sql over the same
// engine: commits of one row, synchronous FULL, interleaved rounds.
func BenchmarkDrivers(b *testing.B) {
	direct, err := baseline.Open(filepath.Join(b.TempDir(), "direct.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = direct.Close() }()
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "sql.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE steps (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL);
		CREATE UNIQUE INDEX steps_seq ON steps (thread, seq)`); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO steps (thread, seq, data) VALUES (?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	const rows = 200
	data := make([]byte, 1024)
	var ratios, speeds []float64
	round := int64(0)
	for b.Loop() {
		round++
		start := time.Now()
		for i := range int64(rows) {
			if err := direct.Append(b.Context(), round, i, data); err != nil {
				b.Fatal(err)
			}
		}
		ours := time.Since(start)
		start = time.Now()
		for i := range int64(rows) {
			if _, err := insert.ExecContext(b.Context(), round, i, data); err != nil {
				b.Fatal(err)
			}
		}
		ratios = append(ratios, time.Since(start).Seconds()/ours.Seconds())
		speeds = append(speeds, rows/ours.Seconds())
	}
	slices.Sort(ratios)
	slices.Sort(speeds)
	b.ReportMetric(ratios[len(ratios)/2], "x-database/sql")
	b.ReportMetric(speeds[len(speeds)/2], "rows/s")
}
