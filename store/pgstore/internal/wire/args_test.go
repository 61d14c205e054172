package wire_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/posthouse/posthouse/store/pgstore/internal/wire"
)

// TestArgsAreEncodedAsByTheDriver compares each kind of argument with what the driver sends.
func TestArgsAreEncodedAsByTheDriver(t *testing.T) {
	var a wire.Args
	for round := range 2 { // the second one uses the memory of the first
		a.Reset()
		null := []byte(nil)
		due := int64(-5)
		a.Bool(true)
		a.Int4(-7)
		a.Int8(1 << 40)
		a.Text("name")
		a.Bytes([]byte{1, 2})
		a.Bytes([]byte{})
		a.Bytes(nil)
		a.Null(wire.Int8)
		a.Array(wire.Int8, 0, nil)
		a.Array(wire.Bool, 2, func(i int) { a.PutBool(i == 1) })
		a.Array(wire.Int4, 2, func(i int) { a.PutInt4(int32(i - 1)) })
		a.Array(wire.Int8, 2, func(i int) {
			if i == 0 {
				a.PutNull()
			} else {
				a.PutInt8(due)
			}
		})
		a.Array(wire.Bytea, 4, func(i int) {
			switch i {
			case 0:
				a.PutText("text")
			case 1:
				a.PutBytes(nil)
			case 2:
				a.PutBytes([]byte{})
			default:
				a.PutBytes([]byte{3})
			}
		})
		want := []any{
			true, int32(-7), int64(1 << 40), []byte("name"), []byte{1, 2}, []byte{}, null, (*int64)(nil),
			[]int64(nil), []bool{false, true}, []int32{-1, 0}, []*int64{nil, &due}, [][]byte{[]byte("text"), nil, {}, {3}},
		}
		have, types, driver := a.Encoded(), a.Types(), pgtype.NewMap()
		if len(have) != len(want) || len(types) != len(want) {
			t.Fatalf("round %d: %d arguments and %d types, want %d", round, len(have), len(types), len(want))
		}
		for i, v := range want {
			encoded, err := driver.Encode(types[i], pgtype.BinaryFormatCode, v, make([]byte, 0, 64))
			if err != nil {
				t.Fatalf("argument %d: %v", i, err)
			}
			if len(encoded) > 8 && types[i] != pgtype.ByteaOID {
				encoded[7] = 1 // we always say that elements may be NULL
			}
			if !bytes.Equal(have[i], encoded) || (have[i] == nil) != (encoded == nil) {
				t.Errorf("round %d: argument %d is %v, the driver sends %v", round, i, have[i], encoded)
			}
		}
	}
}

func TestIntReadsNumbersAndNull(t *testing.T) {
	for want, b := range map[int64][]byte{0: nil, -2: {255, 255, 255, 254}, 1 << 32: {0, 0, 0, 1, 0, 0, 0, 0}} {
		if n := wire.Int(b); n != want {
			t.Errorf("%v is %d, want %d", b, n, want)
		}
	}
}
