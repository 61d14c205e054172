//go:build unix

package baseline_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"syscall"
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
	var wall, cpu []float64
	round := int64(0)
	for b.Loop() {
		round++
		ours := measure(func() {
			for i := range int64(rows) {
				if err := direct.Append(b.Context(), round, i, data); err != nil {
					b.Fatal(err)
				}
			}
		})
		theirs := measure(func() {
			for i := range int64(rows) {
				if _, err := insert.ExecContext(b.Context(), round, i, data); err != nil {
					b.Fatal(err)
				}
			}
		})
		wall = append(wall, theirs[0].Seconds()/ours[0].Seconds())
		cpu = append(cpu, theirs[1].Seconds()/ours[1].Seconds())
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	b.ReportMetric(wall[len(wall)/2], "x-faster")
	b.ReportMetric(cpu[len(cpu)/2], "x-less-cpu")
}

// measure returns the wall time and the CPU time that fn took.
func measure(fn func()) [2]time.Duration {
	cpu := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	c, start := cpu(), time.Now()
	fn()
	return [2]time.Duration{time.Since(start), cpu() - c}
}
