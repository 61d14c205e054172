package history_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/history"
	"github.com/posthouse/posthouse/internal/proof/site"
)

func TestMain(m *testing.M) {
	site.Serving()
	history.Working()
	goleak.VerifyTestMain(m)
}
