package faults

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/site"
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
	goleak.VerifyTestMain(m)
}
