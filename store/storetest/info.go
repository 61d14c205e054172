package storetest

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
)

func infoCases() []Case {
	return []Case{
		{
			Name:  "info/a store says what it is",
			Rule:  "Info names the store's kind and says in one line what its acknowledgement promises, with a size that is not negative; a cancelled context ends it with its error.",
			Needs: NeedInformer,
			Run:   infoSaid,
		},
	}
}

func infoSaid(t *T) {
	i := t.Store.(posthouse.Informer)
	t.log("t1", 3)
	kind, promise, size, err := i.Info(t.ctx)
	t.OK(err)
	for what, text := range map[string]string{"kind": kind, "promise": promise} {
		if text == "" || strings.ContainsAny(text, "\r\n") || strings.TrimSpace(text) != text {
			t.Errorf("its %s is %q; want one line", what, text)
		}
	}
	if size < 0 {
		t.Errorf("its size is %d bytes", size)
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, _, _, err := i.Info(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Info under a cancelled context: %v, want %v", err, context.Canceled)
	}
}
