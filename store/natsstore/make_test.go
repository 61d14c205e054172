package natsstore_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestMadeByAnother has a process find no streams, and make them when another process has
// made them and appended already. That is no loss.
func TestMadeByAnother(t *testing.T) {
	server := startServer(t, t.TempDir())
	first, second := openAt(t, server.ClientURL(), nil), openAt(t, server.ClientURL(), nil)
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, first, l, l.Checkpoint(posthouse.Header{}, "state"))
	if err := second.MakeLate(t.Context()); err != nil {
		t.Errorf("make the store: %v", err)
	}
	servertest.Take(t, second, l, l.Checkpoint(posthouse.Header{}, "more"))
	servertest.WantSound(t, first, "a", 2)
}
