package host

import (
	"os"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestProcessName: a process is called by its host, and no two are called alike.
func TestProcessName(t *testing.T) {
	one, other := processName(), processName()
	if err := posthouse.ValidateID("Owner", one); err != nil {
		t.Error(err)
	}
	if one == other {
		t.Errorf("two processes are called %q", one)
	}
	if _, err := os.Hostname(); err == nil && len(one) < len("h.")+10 {
		t.Errorf("it is called %q, which does not name its host", one)
	}
}
