package sign_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
)

// A signed ledger, verified with the public key alone. Later somebody puts the
// store back to an older state, which only a witness can tell.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	key, err := sign.LoadOrCreate(filepath.Join(dir, "signing.key"))
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memstore.New()
	led, err := ledger.Open(store, &ledger.Options{Signer: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	state, _ := posthouse.Opaque(nil, map[string]string{"request": "please refund order 1234"})
	c := posthouse.Root("order-1234", state)
	c.Status = posthouse.StatusDone // the end of a run is always signed
	if _, err := led.Save(ctx, c, nil); err != nil {
		fmt.Println(err)
		return
	}
	head, err := statement.Witness(ctx, store, key, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	ring, err := sign.LoadRing(filepath.Join(dir, "signing.key.pub"))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := sign.Verify(ctx, store, ring, &sign.VerifyOptions{Witness: head})
	fmt.Println("ok:", report.OK(), "covered:", report.Covered, "of", report.Entries, err)

	report, err = sign.Verify(ctx, memstore.New(), ring, &sign.VerifyOptions{Witness: head}) // an empty store
	fmt.Println("ok:", report.OK(), "faults:", len(report.Faults), report.Faults[0].Kind, err)
	// Output:
	// ok: true covered: 1 of 1 <nil>
	// ok: false faults: 1 vanished <nil>
}

// A key is replaced; what the old one signed stays verifiable.
func ExampleRotate() {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "signing.key")
	old, err := sign.LoadOrCreate(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := sign.Rotate(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ring, err := sign.LoadRing(path + sign.PublicSuffix)
	if err != nil {
		fmt.Println(err)
		return
	}
	retired, _ := ring.Key(old.KeyID())
	current, _ := ring.Key(key.KeyID())
	fmt.Println(len(ring.Keys()), "keys; retired:", !retired.NotAfter.IsZero(), !current.NotAfter.IsZero())
	// Output:
	// 2 keys; retired: true false
}
