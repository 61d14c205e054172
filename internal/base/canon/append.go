package canon

import (
	"encoding/binary"
	"slices"
)

// AppendUint appends u as a minimal unsigned varint (LEB128), 1 to 10 bytes.
func AppendUint(b []byte, u uint64) []byte { return binary.AppendUvarint(b, u) }

// AppendInt appends i zigzag-encoded as an unsigned varint.
func AppendInt(b []byte, i int64) []byte {
	return AppendUint(b, uint64(i)<<1^uint64(i>>63))
}

// AppendBytes appends the length of p as a varint, then p.
func AppendBytes(b, p []byte) []byte {
	b = AppendUint(b, uint64(len(p)))
	return append(b, p...)
}

// AppendString is AppendBytes for a string.
func AppendString(b []byte, s string) []byte {
	b = AppendUint(b, uint64(len(s)))
	return append(b, s...)
}

// AppendStrings appends the number of strings, then each.
func AppendStrings(b []byte, ss []string) []byte {
	b = AppendUint(b, uint64(len(ss)))
	for _, s := range ss {
		b = AppendString(b, s)
	}
	return b
}

// AppendMap appends the number of pairs, then the pairs in ascending key order.
func AppendMap(b []byte, m map[string]string) []byte {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = AppendUint(b, uint64(len(keys)))
	for _, k := range keys {
		b = AppendString(AppendString(b, k), m[k])
	}
	return b
}
