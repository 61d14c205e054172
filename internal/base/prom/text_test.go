package prom

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*="`)
)

// parse reads a page by the rules of the format, and returns the samples by their series.
func parse(page string) (map[string]float64, error) {
	if !utf8.ValidString(page) || !strings.HasSuffix(page, "\n") {
		return nil, fmt.Errorf("the page is not UTF-8, or its last line has no end")
	}
	samples, kinds, family := map[string]float64{}, map[string]string{}, ""
	for _, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if help, ok := strings.CutPrefix(line, "# HELP "); ok {
			family, _, _ = strings.Cut(help, " ")
			continue
		}
		if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(kind, " ")
			if name != family || kinds[name] != "" {
				return nil, fmt.Errorf("the type of %s follows the help of %s, or comes twice", name, family)
			}
			kinds[name] = kind
			continue
		}
		series, v, err := parseSample(line)
		if err != nil {
			return nil, err
		}
		name := metricName.FindString(series)
		if kinds[family] == "histogram" {
			name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		}
		if _, twice := samples[series]; name != family || twice {
			return nil, fmt.Errorf("%s is there twice, or below %s", series, family)
		}
		samples[series] = v
	}
	return samples, nil
}

// parseSample reads one line. The series has its labels unescaped, and quoted as Go does.
func parseSample(line string) (series string, v float64, err error) {
	name := metricName.FindString(line)
	rest, series := line[len(name):], name
	if name == "" {
		return "", 0, fmt.Errorf("no name: %q", line)
	}
	if strings.HasPrefix(rest, "{") {
		for sep := "{"; strings.HasPrefix(rest, sep); sep = "," {
			label := labelName.FindString(rest[1:])
			if label == "" {
				return "", 0, fmt.Errorf("no label: %q", rest)
			}
			value, after, err := parseValue(rest[1+len(label):])
			if err != nil {
				return "", 0, err
			}
			series, rest = series+" "+label+value, after
		}
		if !strings.HasPrefix(rest, "}") {
			return "", 0, fmt.Errorf("labels without an end: %q", line)
		}
		rest = rest[1:]
	}
	v, err = strconv.ParseFloat(strings.TrimPrefix(rest, " "), 64)
	return series, v, err
}

// parseValue reads the value of a label to its quote.
func parseValue(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], nil
		case s[i] != '\\':
			b.WriteByte(s[i])
		case i+1 < len(s) && strings.IndexByte(`\"n`, s[i+1]) >= 0:
			i++
			b.WriteByte(map[byte]byte{'\\': '\\', '"': '"', 'n': '\n'}[s[i]])
		default:
			return "", "", fmt.Errorf("an escape that there is not: %q", s[i:])
		}
	}
	return "", "", fmt.Errorf("a value without an end: %q", s)
}

// TestHostileLabels writes values that look like the format's own marks, and reads them back.
func TestHostileLabels(t *testing.T) {
	var page Text
	c := NewCounts("name", "of")
	hostile := []string{"", `"`, `\`, "a\nb 1", `"} 1`, `\n`, "{}", "ä\u2028", "#", " "}
	for i, name := range hostile {
		c.Add(uint64(i+1), name, "x")
	}
	c.Add(1, "\xff", "bad")
	c.Add(2, "\xfe", "bad") // written alike
	c.Add(5, strings.Repeat("é", 1000), "long")
	c.Write(&page, "posthouse_test_total", Counter, "Help with \\ and\nlines.")
	page.Gauge("posthouse_inf", "No end.", math.Inf(1))
	got, err := parse(string(page.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, page.Bytes())
	}
	for i, name := range hostile {
		if v := got[`posthouse_test_total name="`+name+` of="x`]; v != float64(i+1) {
			t.Errorf("the label %q counts %v, want %d", name, v, i+1)
		}
	}
	if v := got[`posthouse_test_total name="`+"\uFFFD"+` of="bad`]; v != 3 {
		t.Errorf("two texts that are no UTF-8 count %v, want 3 in one series", v)
	}
	if !math.IsInf(got["posthouse_inf"], 1) || len(page.Bytes()) > 2000 {
		t.Errorf("the page of %d bytes has %v", len(page.Bytes()), got)
	}
}

// TestCountsAreBounded counts by more names than a family keeps.
func TestCountsAreBounded(t *testing.T) {
	var page Text
	c := NewCounts("program", "status")
	for i := range 10_000 {
		c.Add(1, "p"+strconv.Itoa(i), "done")
	}
	if label := c.Add(1, "p5", "failed"); label != "p5" {
		t.Errorf("a name that is kept counts for %q", label)
	}
	if label := c.Add(1, "p5000", "failed"); label != Other {
		t.Errorf("a name too many counts for %q", label)
	}
	c.Write(&page, "x", Counter, "X.")
	got, err := parse(string(page.Bytes()))
	total := 0.0
	for v := range maps.Values(got) {
		total += v
	}
	if err != nil || len(got) != maxNames+3 || total != 10_002 || got[`x program="other status="done`] != 10_000-maxNames {
		t.Errorf("%d series that count %v, the others %v: %v", len(got), total, got[`x program="other status="done`], err)
	}
	if names := c.Names(); len(names) != maxNames+1 || !slices.Contains(names, Other) {
		t.Errorf("%d names", len(names))
	}
}

// TestHistogram: buckets hold all below their end, and the last one all.
func TestHistogram(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{0, -1, time.Millisecond, time.Millisecond + 1, 20 * time.Second} {
		h.Observe(d)
	}
	var page Text
	h.Write(page.Family("took_seconds", Histograms, "How long."), "op", "append")
	got, err := parse(string(page.Bytes()))
	for series, want := range map[string]float64{
		`took_seconds_bucket op="append le="0.0001`: 2, `took_seconds_bucket op="append le="0.001`: 3, `took_seconds_bucket op="append le="0.0025`: 4,
		`took_seconds_bucket op="append le="10`: 4, `took_seconds_bucket op="append le="+Inf`: 5, `took_seconds_count op="append`: 5,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v, want %v: %v", series, v, want, err)
		}
	}
	if sum := got[`took_seconds_sum op="append`]; sum < 20.002 || sum > 20.003 {
		t.Errorf("the sum is %v", sum)
	}
}
