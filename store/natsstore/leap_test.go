package natsstore_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/natsstore"
)

// TestLeapingSequence flips bits of the sequence number of a stored message: a server that
// was started with that would count for hours, and take all memory.
func TestLeapingSequence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	want := filled(t, dir)
	for _, stream := range []string{"posthouse-log", "KV_checkpoints"} {
		name := filepath.Join("jetstream", "$G", "streams", stream, "msgs", "1.blk")
		for _, bit := range []int{17, 40, 61} {
			got, err := opened(t, dir, name, func(b []byte) []byte {
				second := binary.LittleEndian.Uint32(b) &^ (1 << 31) // the first one's length
				b[int(second)+4+bit/8] ^= 1 << (bit % 8)
				return b
			})
			if !errors.Is(err, posthouse.ErrCorrupt) {
				t.Errorf("%s, bit %d: %v (as before: %v)", stream, bit, err, got == want)
			}
		}
	}
}

// TestChecksumsAreTheServers compares the checksum of each message but the first of a file
// with ours, so a gap in the numbers is no damage where it is what was written.
func TestChecksumsAreTheServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	filled(t, dir)
	for _, stream := range []string{"posthouse-log", "KV_checkpoints"} {
		data, err := os.ReadFile(filepath.Join(dir, "jetstream", "$G", "streams", stream, "msgs", "1.blk"))
		if err != nil {
			t.Fatal(err)
		}
		if at, found := natsstore.Leaps(stream+"-1", data, 0); found {
			t.Errorf("%s: the message at byte %d is said to be damaged", stream, at)
		}
		if _, found := natsstore.Leaps(stream+"-2", data, 0); !found {
			t.Errorf("%s: nothing is compared", stream)
		}
	}
}
