package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/site"
)

func TestMain(m *testing.M) {
	site.Serving()
	if text := os.Getenv(clientEnv); text != "" {
		if err := serve(text); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // most of the time all wait
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
