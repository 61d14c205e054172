package crypt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Encrypt what is stored: state, metadata, gates, decisions and step results.
func ExampleNewKeyring() {
	ctx := context.Background()
	store := memstore.New()
	keys, err := crypt.NewKeyring(map[string][]byte{"2026-01": bytes.Repeat([]byte{1}, 32)}, "2026-01") // from your secrets
	if err != nil {
		panic(err)
	}
	led, err := ledger.Open(store, &ledger.Options{Cipher: keys})
	if err != nil {
		panic(err)
	}
	state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`{"card":"4111"}`)}}
	saved, err := led.Save(ctx, posthouse.Root("order-1", state), nil)
	if err != nil {
		panic(err)
	}
	for entry := range store.Read(ctx, "order-1", posthouse.Range{}) {
		fmt.Println("in the store in the clear:", bytes.Contains(entry.Bodies[0], []byte("4111")))
	}
	plain, err := ledger.Open(store, nil)
	if err != nil {
		panic(err)
	}
	_, err = plain.Get(ctx, saved.ID)
	fmt.Println("without the key:", errors.Is(err, posthouse.ErrSealed))
	// Output:
	// in the store in the clear: false
	// without the key: true
}

// Rotate: open with the new key as the current one, rewrap, drop the old key.
// No entry is touched.
func ExampleRewrap() {
	ctx := context.Background()
	store := memstore.New()
	with := func(current string, ids ...string) *ledger.Ledger {
		keys := map[string][]byte{}
		for _, id := range ids {
			keys[id] = append(bytes.Repeat([]byte{1}, 25), id...)
		}
		ring, err := crypt.NewKeyring(keys, current)
		if err != nil {
			panic(err)
		}
		led, err := ledger.Open(store, &ledger.Options{Cipher: ring})
		if err != nil {
			panic(err)
		}
		return led
	}
	state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`"hello"`)}}
	saved, err := with("2026-01", "2026-01").Save(ctx, posthouse.Root("order-1", state), nil)
	if err != nil {
		panic(err)
	}

	led := with("2026-02", "2026-02", "2026-01")
	done, err := crypt.Rewrap(ctx, led)
	if err != nil {
		panic(err)
	}
	use, err := crypt.KeyUse(ctx, led)
	fmt.Println(done.Keys, use, err)

	again, err := with("2026-02", "2026-02").Get(ctx, saved.ID)
	fmt.Println(string(again.State[posthouse.OpaquePart].Data), err)
	// Output:
	// 1 map[2026-02:1] <nil>
	// "hello" <nil>
}
