// Package prom counts, and writes what was counted in the text format of Prometheus
// (version 0.0.4), which OpenMetrics' readers take as well.
//
//	var t prom.Text
//	t.Gauge("posthouse_streams", "Answers that stay open.", 3)
//	f := t.Family("posthouse_gates_open", prom.Gauge, "Questions that wait.")
//	f.Sample(2, "question", "refund")
//	w.Write(t.Bytes())
//
// Names are constants of the program; values of labels may be any text.
package prom

import (
	"math"
	"strconv"
	"strings"
)

// ContentType is the media type of a [Text].
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Kind is how the samples of a family are to be read.
type Kind string

// The kinds.
const (
	Counter    Kind = "counter"
	Gauge      Kind = "gauge"
	Histograms Kind = "histogram"
)

// A Text is a page of metrics. The zero value is empty.
type Text struct{ buf []byte }

// Bytes returns the page.
func (t *Text) Bytes() []byte { return t.buf }

// Append appends the families of another page.
func (t *Text) Append(page []byte) { t.buf = append(t.buf, page...) }

// A Family is the metrics of one name, which differ in the values of their labels.
type Family struct {
	text *Text
	name string
}

// Family begins a family. Its samples come before the next family.
func (t *Text) Family(name string, kind Kind, help string) Family {
	t.buf = append(t.buf, "# HELP "+name+" "+helpText.Replace(help)+"\n# TYPE "+name+" "+string(kind)+"\n"...)
	return Family{t, name}
}

// Gauge writes a family of one gauge without labels.
func (t *Text) Gauge(name, help string, v float64) { t.Family(name, Gauge, help).Sample(v) }

// Counter writes a family of one counter without labels.
func (t *Text) Counter(name, help string, v uint64) {
	t.Family(name, Counter, help).Sample(float64(v))
}

// Sample writes one metric. Labels are names and values in turns.
func (f Family) Sample(v float64, labels ...string) { f.write("", v, labels) }

func (f Family) write(suffix string, v float64, labels []string) {
	b := append(f.text.buf, f.name+suffix...)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		b = append(b, sep+labels[i]+`="`+labelText.Replace(clean(labels[i+1]))+`"`...)
	}
	if len(labels) > 1 {
		b = append(b, '}')
	}
	b = append(b, ' ')
	switch {
	case math.IsInf(v, 1):
		b = append(b, "+Inf"...)
	case math.IsInf(v, -1):
		b = append(b, "-Inf"...)
	default:
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	f.text.buf = append(b, '\n')
}

var (
	helpText  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	labelText = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// maxLabel bounds the value of a label, in bytes.
const maxLabel = 200

// clean returns a text as the value of a label: valid UTF-8 of about 200 bytes at most.
func clean(s string) string {
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
