package step_test

import (
	"context"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/step"
	"io"
	"slices"
	"strings"
	"testing"
)

func listening(t *testing.T) (context.Context, *stream.Emitter, *[]stream.Emission) {
	var heard []stream.Emission
	e := stream.NewEmitter(func(_ context.Context, _ <-chan struct{}, em stream.Emission) { heard = append(heard, em) })
	return e.With(t.Context()), e, &heard
}

func TestWriterKeepsCharactersWhole(t *testing.T) {
	ctx, _, heard := listening(t)
	const text = "Grüße: 世界 \xff🚀"
	if n, err := io.Copy(step.Writer(ctx), io.MultiReader(oneByOne(text)...)); err != nil || n != int64(len(text)) {
		t.Fatal(n, err)
	}
	var all strings.Builder
	for i, e := range *heard {
		if all.WriteString(e.Text); e.Seq != uint64(i+1) {
			t.Errorf("%+v", e)
		}
	}
	if all.String() != text || !slices.ContainsFunc(*heard, func(e stream.Emission) bool { return e.Text == "🚀" }) {
		t.Errorf("*heard %+v", *heard)
	}
}

func oneByOne(s string) (rs []io.Reader) {
	for i := range len(s) {
		rs = append(rs, strings.NewReader(s[i:i+1]))
	}
	return rs
}

func TestNothingIsEmittedAfterTheEnd(t *testing.T) {
	ctx, e, heard := listening(t)
	step.Token(ctx, "")
	step.Token(ctx, "a")
	step.Emit(ctx, nil)
	e.Close()
	step.Token(ctx, "b")
	step.Emit(ctx, 2)
	if len(*heard) != 2 || !(*heard)[1].Custom {
		t.Errorf("*heard %+v", *heard)
	}
	if n := testing.AllocsPerRun(100, func() { step.Token(t.Context(), "nobody") }); n > 1 {
		t.Errorf("%v allocations where nobody listens", n)
	}
}
