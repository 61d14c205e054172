package jsonpatch

import (
	"math/big"
	"strconv"
	"strings"
)

// maxExponent bounds the digits of an exponent that is computed with. A longer one is compared as it
// is written, with the shift beside it.
const maxExponent = 100

func addExponent(exponent string, shift int) string {
	exponent = strings.TrimPrefix(exponent, "+")
	if exponent == "" {
		return strconv.Itoa(shift)
	}
	if len(exponent) > maxExponent {
		return exponent + " " + strconv.Itoa(shift)
	}
	n, ok := new(big.Int).SetString(exponent, 10)
	if !ok {
		return exponent + " " + strconv.Itoa(shift)
	}
	return n.Add(n, big.NewInt(int64(shift))).String()
}
