package trial

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(Child())
	}
	goleak.VerifyTestMain(m)
}
