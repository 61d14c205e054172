package s3store_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/s3store"
)

// Two processes share a bucket: what one has saved, the other finds.
func Example() {
	ctx := context.Background()
	server := s3test.Start() // in place of the service
	defer server.Close()
	url := server.URL("bucket", "desk") // s3://bucket/desk?region=eu-west-1
	o := &s3store.Options{AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey}

	one, err := s3store.Open(ctx, url, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Close()
	two, err := s3store.Open(ctx, url, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer two.Close()

	led, err := ledger.Open(one, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	saved, err := led.Save(ctx, posthouse.Root("order-1234", nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ref, err := two.Find(ctx, saved.ID)
	fmt.Println(ref.Thread, ref.Seq, err)
	// Output:
	// order-1234 1 <nil>
}
