package cli

import "testing"

// TestByteSize reads and prints sizes with and without a unit, and refuses others.
func TestByteSize(t *testing.T) {
	var limit byteSize
	for v, want := range map[string]byteSize{"100": 100, "3KiB": 3 << 10, "16MiB": 16 << 20, "1GiB": 1 << 30} {
		if err := limit.Set(v); err != nil || limit != want || limit.String() != v {
			t.Errorf("%s is %v, %v", v, &limit, err)
		}
	}
	for _, v := range []string{"", "0", "-1", "1.5MiB", "16MB", "KiB", "9GiB", "9223372036854775807GiB"} {
		if err := limit.Set(v); err == nil {
			t.Errorf("%q is taken for %d", v, limit)
		}
	}
}
