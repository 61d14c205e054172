package strictjson

import "bytes"

// ReplacedUTF8 tells whether encoding/json met invalid UTF-8: only then does
// it write the escape \ufffd (a genuine U+FFFD is written as its bytes).
func ReplacedUTF8(data []byte) bool {
	const esc = `\ufffd`
	for i := 0; ; {
		j := bytes.Index(data[i:], []byte(esc))
		if j < 0 {
			return false
		}
		at := i + j
		slashes := 0
		for k := at - 1; k >= 0 && data[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		i = at + len(esc)
	}
}
