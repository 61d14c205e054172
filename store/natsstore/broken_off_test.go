package natsstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/natsstore"
)

// TestMakingWasBrokenOff leaves a stream as a power cut does while the server makes it:
// with a description, and without that one's checksum. The store is made again, and what
// is written then is there when it is opened once more.
func TestMakingWasBrokenOff(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "store")
	url, key := "nats:"+dir, posthouse.SlotKey{Thread: "a", Step: "s"}
	s, err := natsstore.Open(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	streams := filepath.Join(dir, "jetstream", "$G", "streams")
	for _, gone := range []string{
		filepath.Join(streams, "KV_checkpoints", "meta.sum"), filepath.Join(streams, "KV_checkpoints", "msgs"),
		filepath.Join(streams, "posthouse-aside"), filepath.Join(dir, "posthouse"), // the witness and the mark come last
	} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		s, err := natsstore.Open(ctx, url, nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round == 0 {
			_, err = s.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("v"), Revision: posthouse.AnyRevision})
		} else {
			_, err = s.Slot(ctx, key, posthouse.SlotOp{})
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}
