package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// A byteSize is a flag that takes a number of bytes, as in 16MiB.
type byteSize int64

func (*byteSize) Type() string { return "size" }

// String is as Set takes it.
func (b *byteSize) String() string {
	n, unit := int64(*b), ""
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatInt(n, 10) + unit
}

func (b *byteSize) Set(v string) error {
	digits, unit := v, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if d, ok := strings.CutSuffix(v, suffix); ok {
			digits, unit = d, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt32/unit { // what a 32-bit int holds
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: strconv.Quote(v) + " is no size up to 2 GiB", Hint: "give bytes, or KiB, MiB or GiB, as in 16MiB",
		}
	}
	*b = byteSize(n * unit)
	return nil
}
