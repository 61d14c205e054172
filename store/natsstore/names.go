package natsstore

import (
	"encoding/hex"
	"strings"

	"github.com/posthouse/posthouse"
)

// Names of the streams, buckets and subjects of a store. The buckets are called
// checkpoints and checkpoints-process unless the store has another prefix.
type names struct{ prefix string }

func (n names) log() string   { return n.prefix + "-log" }
func (n names) aside() string { return n.prefix + "-aside" }

// baseline names the bucket of [Store.Baseline].
func (n names) baseline() string { return n.prefix + "-baseline" }

func (n names) logSubject(thread string) string { return n.prefix + ".log." + escape(thread) }
func (n names) chunkSubject() string            { return n.prefix + ".chunk" }
func (n names) witnessSubject() string          { return n.prefix + ".witness" }

// bucket names the bucket of a thread's slots. Those of processes have their own, so that
// what is done to one does not touch the fences of the other.
func (n names) bucket(thread string) string {
	name := "checkpoints"
	if n.prefix != defaultPrefix {
		name = n.prefix + "-" + name
	}
	if thread == posthouse.ProcessThread {
		name += "-process"
	}
	return name
}

func (n names) slotSubject(key posthouse.SlotKey) string {
	return "$KV." + n.bucket(key.Thread) + "." + escape(key.Thread) + "." + escape(key.Step)
}

// slotKey reads the key of a slot's subject.
func slotKey(subject string) (key posthouse.SlotKey, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 {
		return key, false
	}
	thread, ok1 := unescape(parts[2])
	step, ok2 := unescape(parts[3])
	return posthouse.SlotKey{Thread: thread, Step: step}, ok1 && ok2
}

// escape writes a name as one token of a subject, which is also a valid key of a bucket:
// all bytes but letters, digits, _ and - become = and two hexadecimal digits.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{c})))
	}
	return b.String()
}

func unescape(token string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b.WriteByte(token[i])
			continue
		}
		if i+2 >= len(token) {
			return "", false
		}
		c, err := hex.DecodeString(token[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(c)
		i += 2
	}
	return b.String(), true
}
