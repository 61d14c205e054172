package posthouse_test

import (
	"maps"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// faced folds records, one an entry, into a summary, and stores and reads it after each.
func faced(t *testing.T, records ...posthouse.Record) *posthouse.ThreadInfo {
	t.Helper()
	info := &posthouse.ThreadInfo{Thread: "t"}
	for i, r := range records {
		var body []byte
		if r.Note != nil {
			t.Fatal("a note follows a step")
		}
		rs, bodies := []posthouse.Record{r}, [][]byte{body}
		if r.Step != nil && r.Step.Name == "noted" {
			rs = append(rs, posthouse.Record{Kind: posthouse.RecordNote, Note: &posthouse.NoteInfo{Branch: posthouse.MainBranch, Line: true}})
			bodies = append(bodies, []byte(`{"notes":[{"line":"x"}]}`))
		}
		e, next := posthouse.Seal(info, time.Unix(int64(i), 0), rs, bodies)
		fold := *info
		if err := fold.Apply(e); err != nil {
			t.Fatal(err)
		}
		data, err := next.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		read := &posthouse.ThreadInfo{}
		if err := read.UnmarshalBinary(data); err != nil || !lists.Same(read, next) || !lists.Same(&fold, next) {
			t.Fatalf("the summary after record %d reads as %+v, %v", i, read, err)
		}
		info = read
	}
	return info
}

func checkpointOf(kind string, labels map[string]string) posthouse.Record {
	var k posthouse.OrderKey
	k[5], k[6], k[8] = 1, 0x70, 0x80
	return posthouse.Record{Kind: posthouse.RecordCheckpoint, Checkpoint: &posthouse.Header{
		ID: k.ID(), Order: k, Thread: "t", Branch: posthouse.MainBranch, Kind: kind, Status: posthouse.StatusRunning, Labels: labels,
	}}
}

func TestLabelsOfAThread(t *testing.T) {
	acme, blue, effect := map[string]string{"customer": "acme"}, map[string]string{"team": "blue"}, map[string]string{"effect": "external"}
	for name, c := range map[string]struct {
		records []posthouse.Record
		want    map[string]string
	}{
		"an input":                    {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme)}, acme},
		"a node has its own":          {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme), checkpointOf(posthouse.KindNode, effect)}, acme},
		"an input without":            {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme), checkpointOf(posthouse.KindInput, nil)}, acme},
		"a newer input":               {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme), checkpointOf(posthouse.KindUpdate, blue)}, blue},
		"a save":                      {[]posthouse.Record{checkpointOf(posthouse.KindSave, blue)}, blue},
		"a thread begins with a fork": {[]posthouse.Record{checkpointOf(posthouse.KindFork, blue)}, blue},
		"a fork within it":            {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme), checkpointOf(posthouse.KindFork, effect)}, acme},
		"a release": {[]posthouse.Record{checkpointOf(posthouse.KindInput, acme), {
			Kind: posthouse.RecordRelease, Release: &posthouse.ReleaseInfo{First: 1, Checkpoints: 1},
		}}, nil},
	} {
		if have := faced(t, c.records...).Labels; !maps.Equal(have, c.want) {
			t.Errorf("%s: %v, want %v", name, have, c.want)
		}
	}
}

func useOf(name string, n uint32, grant posthouse.ID) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{
		Task: "1/pay", Name: name, Occurrence: n, Branch: posthouse.MainBranch, Codec: "json", Effect: posthouse.EffectExternal, Grant: grant,
	}}
}

func TestEffectsThatBegan(t *testing.T) {
	const by = "gate-1"
	for name, c := range map[string]struct {
		records []posthouse.Record
		want    int
	}{
		"it began":                    {[]posthouse.Record{useOf("pay>$use", 0, by)}, 1},
		"its result":                  {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("pay", 0, by)}, 0},
		"it failed":                   {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("pay>$failed", 0, by)}, 0},
		"it began again":              {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("pay>$use", 1, by)}, 1},
		"the second of a name":        {[]posthouse.Record{useOf("pay[1]>$use", 0, by), useOf("pay", 0, by)}, 1},
		"the second's result":         {[]posthouse.Record{useOf("pay[1]>$use", 0, by), useOf("pay", 1, by)}, 0},
		"another's result":            {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("mail", 0, by)}, 1},
		"a worker's claim is no end":  {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("pay>$claim", 7, by)}, 1},
		"an effect that nobody let":   {[]posthouse.Record{useOf("pay", 0, "")}, 0},
		"two, and the result of one":  {[]posthouse.Record{useOf("pay>$use", 0, by), useOf("mail>$use", 0, by), useOf("pay", 0, by)}, 1},
		"a plain step of that name":   {[]posthouse.Record{useOf("pay>$use", 0, by), {Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{Task: "1/pay", Name: "pay", Branch: posthouse.MainBranch, Codec: "json"}}}, 1},
		"a result on another branch":  {[]posthouse.Record{useOf("pay>$use", 0, by), {Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{Task: "1/pay", Name: "pay", Branch: "b", Codec: "json", Grant: by}}}, 1},
		"a summary notes lines, too":  {[]posthouse.Record{useOf("noted", 0, ""), useOf("pay>$use", 0, by)}, 1},
		"and nothing of other steps ": {[]posthouse.Record{useOf("pay>$parked", 0, by)}, 0},
	} {
		info := faced(t, c.records...)
		if len(info.Begun) != c.want {
			t.Errorf("%s: %v, want %d", name, info.Begun, c.want)
		}
	}
	if info := faced(t, useOf("noted", 0, ""), useOf("x", 0, "")); info.Noted != 1 {
		t.Errorf("the newest note is in entry %d, want 1", info.Noted)
	}
}

// TestDatedSummary reads a summary as earlier versions wrote it, and completes it.
func TestDatedSummary(t *testing.T) {
	records := []posthouse.Record{checkpointOf(posthouse.KindInput, map[string]string{"a": "b"}), useOf("pay>$use", 0, "gate-1")}
	whole := faced(t, records...)
	old := *whole
	old.Dated = true
	data, err := old.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read posthouse.ThreadInfo
	if err := read.UnmarshalBinary(data); err != nil || !read.Dated || len(read.Labels) > 0 || !lists.Same(&read, whole) {
		t.Fatalf("it reads as %+v, %v", read, err)
	}
	if again, err := read.MarshalBinary(); err != nil || string(again) != string(data) {
		t.Errorf("it is written as %x, want %x, %v", again, data, err)
	}
	for i := range records {
		read.Recall(uint64(i+1), records[i:i+1])
	}
	read.Dated = false
	if !lists.Same(&read, whole) || !maps.Equal(read.Labels, whole.Labels) || len(read.Begun) != 1 {
		t.Errorf("completed it is %+v, want %+v", read, whole)
	}
}
