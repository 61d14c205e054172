package pgstore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/pgstore"
)

// Two hosts share one database: what one saves, the other goes on from.
func Example() {
	ctx := context.Background()
	url := os.Getenv("DATABASE_URL") // postgres://user:password@host/database

	here, err := pgstore.Open(ctx, url, &pgstore.Options{Schema: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer here.Close()
	there, err := pgstore.Open(ctx, url, &pgstore.Options{Schema: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer there.Close()

	led, err := ledger.Open(here, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	state, err := posthouse.Opaque(nil, "brewing")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := led.Save(ctx, posthouse.Root("tea", state), nil); err != nil { // on the server's disk when it returns
		fmt.Println(err)
		return
	}
	for info, err := range there.Threads(ctx, posthouse.ThreadQuery{}) {
		fmt.Println("seen there:", info.Thread, err)
	}
	// It prints "seen there: tea <nil>".
}

// TestExample runs the example, which needs a server.
func TestExample(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.URL(t))
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	Example()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(r); err != nil || string(out) != "seen there: tea <nil>\n" {
		t.Errorf("output %q, error %v", out, err)
	}
}
