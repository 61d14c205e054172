package delta_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/posthouse/posthouse/internal/base/delta"
)

func TestPackRoundTrip(t *testing.T) {
	var p delta.Packer
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	for name, items := range map[string][][]byte{
		"none":         {},
		"empty":        {{}, nil, {}},
		"one":          {[]byte("hello")},
		"text":         {bytes.Repeat([]byte("courier "), 100), []byte("post"), {}, bytes.Repeat([]byte("courier "), 50)},
		"noise":        {noise, noise[:100]},
		"beyond ratio": {make([]byte, 8<<20)},
	} {
		pack, err := p.Pack(items)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := p.Unpack(pack)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != len(items) {
			t.Fatalf("%s: %d items, want %d", name, len(got), len(items))
		}
		for i := range items {
			if !bytes.Equal(got[i], items[i]) {
				t.Errorf("%s: item %d differs", name, i)
			}
		}
	}
	text, _ := p.Pack([][]byte{bytes.Repeat([]byte("courier "), 100)})
	if len(text) > 100 {
		t.Errorf("800 repetitive bytes take %d", len(text))
	}
	if _, err := p.Pack(make([][]byte, 1<<16+1)); err == nil {
		t.Error("too many items were packed")
	}
}

func TestUnpackRefusesBombsAndDamage(t *testing.T) {
	var p delta.Packer
	good, err := p.Pack([][]byte{bytes.Repeat([]byte("courier "), 1000)})
	if err != nil {
		t.Fatal(err)
	}
	declare := func(n uint64, frame []byte) []byte {
		return append(binary.AppendUvarint([]byte{1, 1}, n), frame...)
	}
	frame := good[len(declare(8000, nil)):]
	for name, pack := range map[string][]byte{
		"nothing":           nil,
		"no count":          {1},
		"more than there":   {1, 200},
		"method":            {7, 0},
		"short length":      {1, 1},
		"beyond the cap":    declare(1<<31, frame),
		"beyond the ratio":  declare(1<<29, frame),
		"longer than said":  declare(10, frame),
		"shorter than said": declare(9000, frame),
		"no frame":          declare(5, []byte("abc")),
		"stored short":      {0, 1, 5, 'a'},
	} {
		if _, err := p.Unpack(pack); !errors.Is(err, delta.ErrPack) {
			t.Errorf("%s: %v, want ErrPack", name, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	var p delta.Packer
	for _, items := range [][][]byte{{}, {[]byte("a"), {}}, {bytes.Repeat([]byte("xyz"), 500)}} {
		pack, err := p.Pack(items)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pack)
	}
	f.Fuzz(func(t *testing.T, pack []byte) {
		items, err := p.Unpack(pack)
		if err != nil {
			return
		}
		again, err := p.Pack(items)
		if err != nil {
			t.Fatal(err)
		}
		back, err := p.Unpack(again)
		if err != nil || len(back) != len(items) {
			t.Fatalf("%v", err)
		}
		for i := range items {
			if !bytes.Equal(items[i], back[i]) {
				t.Fatalf("item %d differs", i)
			}
		}
	})
}
