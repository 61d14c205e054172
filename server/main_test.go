package server

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }
