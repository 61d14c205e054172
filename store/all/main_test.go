package all_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(redistest.Main(pgtest.Main(m)))
}
