package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestSizeOfAChat holds the file against the payload: 500 messages of 1,024
// bytes made of random words.
func TestSizeOfAChat(t *testing.T) {
	const messages = 500
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload := fill(t, s, newLine("chat", idSource()), messages, 1024)
	if err := s.Close(); err != nil { // folds the write-ahead log in
		t.Fatal(err)
	}
	written := float64(fileSize(t, path)) / float64(payload)

	s, err = sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Compact(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compacted := float64(fileSize(t, path)) / float64(payload)
	verify(t, s, "chat", messages)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of payload: %.2fx as written, %.2fx compacted %+v", payload, written, compacted, done)
	if written > 1.52 {
		t.Errorf("as written: %.2fx the payload, want 1.52", written)
	}
	if compacted > 0.8 {
		t.Errorf("compacted: %.2fx the payload, want 0.8", compacted)
	}
	if done.Bodies != messages || done.After >= done.Before {
		t.Errorf("Compacted: %+v", done)
	}
}
