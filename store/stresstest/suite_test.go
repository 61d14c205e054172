package stresstest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModelKeepsTheContract(t *testing.T) {
	stresstest.Run(t, storetest.Harness{
		Open: func(storetest.TB, string) posthouse.Store { return storetest.NewModel() },
	})
}
