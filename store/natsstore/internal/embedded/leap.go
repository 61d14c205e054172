package embedded

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
)

// A record of a message in the server's files: length, sequence number, time, length of the
// subject; then subject, header, data and a checksum.
const (
	recordHead = 4 + 8 + 8 + 2
	recordSum  = 8

	withHeader = 1 << 31 // in the length
	notLive    = 1<<62 | 1<<63
	tombstone  = 1 << 62

	// leap is how far apart two messages in one file are believed to be without a look at
	// the checksum. Between them were others, which are deleted.
	leap = 1 << 16
)

// noLeaps refuses files in which a damaged sequence number leads far ahead. The server
// counts all numbers between before it compares the checksum: it would take all memory,
// and not be ready for hours.
func (s *Server) noLeaps() error {
	blocks, err := filepath.Glob(filepath.Join(s.dir, server.JetStreamStoreDir, "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		return dirError("look into", s.dir, err)
	}
	for _, path := range blocks {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return dirError("read", path, err)
		}
		block := strings.TrimSuffix(filepath.Base(path), ".blk")
		stream := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if at, ok := Leaps(stream+"-"+block, data, leap); ok {
			return &posthouse.Error{
				Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("%s is damaged: the message at byte %d has another checksum", path, at),
				Hint: "put the directory back from a copy; the server was not started, and the file not changed",
			}
		}
	}
	return nil
}

// Leaps looks for a damaged message that starts more than far bytes after the one before it.
// The file's checksums are made with name. A cut or senseless file is left to the server,
// which compares checksums then.
func Leaps(name string, data []byte, far uint64) (at int, found bool) {
	le, last := binary.LittleEndian, uint64(0)
	for at+recordHead+recordSum <= len(data) {
		length := int(le.Uint32(data[at:]) &^ withHeader)
		seq := le.Uint64(data[at+4:])
		if length < recordHead+recordSum || length > len(data)-at {
			return 0, false
		}
		if n := seq &^ notLive; seq&tombstone == 0 && n > last {
			if last > 0 && n-last > far && !sound(name, data[at:at+length]) {
				return at, true
			}
			last = n
		}
		at += length
	}
	return 0, false
}

// sound reports whether a record has its checksum.
func sound(name string, record []byte) bool {
	le := binary.LittleEndian
	from := int(le.Uint16(record[20:])) // after the subject
	rest, sum := record[recordHead:len(record)-recordSum], record[len(record)-recordSum:]
	to := from
	if le.Uint32(record)&withHeader != 0 {
		to += 4 // the header's length is not in the sum
	}
	if to > len(rest) {
		return false
	}
	key := sha256.Sum256([]byte(name))
	h, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		return false
	}
	for _, part := range [][]byte{record[4:20], rest[:from], rest[to:]} {
		_, _ = h.Write(part) // never fails
	}
	return string(h.Sum(nil)) == string(sum)
}
