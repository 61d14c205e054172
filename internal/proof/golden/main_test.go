package golden_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(openerEnv); url != "" {
		if err := openAndUse(url); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}
