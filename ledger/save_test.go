package ledger_test

import (
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestSaveOfNothing is refused by name, and does not panic.
func TestSaveOfNothing(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var e *posthouse.Error
	if _, err := l.Save(t.Context(), nil, nil); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "checkpoint" {
		t.Errorf("Save(nil): %v", err)
	}
}
