package lineartest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModelIsLinearizable(t *testing.T) {
	lineartest.Run(t, storetest.Harness{
		Open: func(storetest.TB, string) posthouse.Store { return storetest.NewModel() },
	})
}
