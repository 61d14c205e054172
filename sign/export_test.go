package sign_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
)

func export(t testing.TB, f *fill, thread string, key *sign.Key, o *statement.ExportOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if o == nil {
		o = &statement.ExportOptions{}
	}
	o.Now = f.clock.Now
	if err := statement.Export(t.Context(), f.store, thread, key, &b, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExport(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	ring := ringOf(t, key)
	for _, thread := range threadsOf(t, f.store) {
		for _, states := range []bool{false, true} {
			data := export(t, f, thread, key, &statement.ExportOptions{States: states})
			trail, err := statement.OpenExport(bytes.NewReader(data), ring)
			if err != nil {
				t.Errorf("%s: %v", thread, err)
				continue
			}
			want := readAll(f.store, thread)
			if trail.Thread != thread || trail.KeyID != key.KeyID() || len(trail.Entries) != len(want) || !trail.Report.OK() || trail.At.IsZero() {
				t.Errorf("%s: trail %+v", thread, trail)
			}
			for i, e := range trail.Entries {
				if e.Hash != want[i].Hash || !bytes.Equal(e.Sig, want[i].Sig) {
					t.Errorf("%s entry %d differs", thread, e.Seq)
				}
				for j, r := range must.Get(e.Records())(t) {
					content := states || r.Checkpoint == nil && r.Step == nil
					if content && !bytes.Equal(e.Bodies[j], want[i].Bodies[j]) || !content && e.Bodies[j] != nil {
						t.Errorf("%s entry %d record %d (%s): body of %d bytes", thread, e.Seq, j, r.Kind, len(e.Bodies[j]))
					}
				}
			}
		}
	}
}

// TestExportIsDSSE checks the envelope as the DSSE specification has it, with
// nothing of this package, and that a person can read the payload.
func TestExportIsDSSE(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	data := export(t, f, "order-1", key, nil)
	var env struct {
		PayloadType string
		Payload     []byte
		Signatures  []struct {
			KeyID string
			Sig   []byte
		}
	}
	if err := json.Unmarshal(data, &env); err != nil {
		t.Fatal(err)
	}
	if env.PayloadType != "application/vnd.posthouse.thread+json" || len(env.Signatures) != 1 || env.Signatures[0].KeyID != key.KeyID() {
		t.Errorf("envelope %s with %d signatures", env.PayloadType, len(env.Signatures))
	}
	pae := label("DSSEv1", len(env.PayloadType), env.PayloadType, len(env.Payload), string(env.Payload))
	want := must.Get(key.Sign([]byte(pae)))(t)
	if !bytes.Equal(env.Signatures[0].Sig, want) {
		t.Error("the signature is not over the pre-authentication encoding")
	}
	for _, text := range []string{`"kind":"decision"`, `"by":"alice"`, `"verdict":"approve"`, `"name":"refund"`, `"amount":12`} {
		if !strings.Contains(string(env.Payload), text) {
			t.Errorf("the view does not show %s", text)
		}
	}
	if strings.Contains(string(env.Payload), "please refund") {
		t.Error("the state is in an export without states")
	}
}

func TestOpenExportFindsTampering(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	data := export(t, f, "order-1", key, nil)
	ring := ringOf(t, key)
	want := must.Get(statement.OpenExport(bytes.NewReader(data), ring))(t)
	for i := 0; i < len(data); i += 7 {
		bad := bytes.Clone(data)
		bad[i] ^= 2
		trail, err := statement.OpenExport(bytes.NewReader(bad), ring)
		if err == nil && trail.Entries[len(trail.Entries)-1].Hash != want.Entries[len(want.Entries)-1].Hash {
			t.Fatalf("byte %d changed the trail", i)
		}
	}
	if _, err := statement.OpenExport(bytes.NewReader(data), ringOf(t, newKey(t))); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("another ring: %v", err)
	}
	if _, err := statement.OpenExport(bytes.NewReader(data[:len(data)/2]), ring); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("half of it: %v", err)
	}

	// The exporter itself lies: an entry goes, and the envelope is signed.
	var env struct{ Payload []byte }
	if err := json.Unmarshal(data, &env); err != nil {
		t.Fatal(err)
	}
	resign := func(change func(p map[string]any, entries []any)) []byte {
		var p map[string]any
		d := json.NewDecoder(bytes.NewReader(env.Payload))
		d.UseNumber()
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		change(p, p["entries"].([]any))
		return seal(t, key, "application/vnd.posthouse.thread+json", p)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"as it is":      {resign(func(map[string]any, []any) {}), nil},
		"another view":  {resign(func(_ map[string]any, es []any) { es[0].(map[string]any)["view"] = nil }), nil},
		"entry dropped": {resign(func(p map[string]any, es []any) { p["entries"] = append(es[:2:2], es[3:]...) }), posthouse.ErrCorrupt},
		"header": {resign(func(_ map[string]any, es []any) {
			es[1].(map[string]any)["header"] = base64.StdEncoding.EncodeToString([]byte{1, 2})
		}), posthouse.ErrCorrupt},
		"another body": {resign(func(_ map[string]any, es []any) { es[3].(map[string]any)["bodies"] = []any{nil, "aGVsbG8="} }), posthouse.ErrCorrupt},
		"thread":       {resign(func(p map[string]any, _ []any) { p["thread"] = "order-2" }), posthouse.ErrCorrupt},
		"null entry":   {resign(func(_ map[string]any, es []any) { es[0] = nil }), posthouse.ErrInvalid},
		"no hash":      {resign(func(_ map[string]any, es []any) { es[0].(map[string]any)["hash"] = "xyz" }), posthouse.ErrInvalid},
		"newer":        {resign(func(p map[string]any, _ []any) { p["format"] = 9 }), posthouse.ErrNewer},
	} {
		trail, err := statement.OpenExport(bytes.NewReader(c.data), ring)
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if errors.Is(err, posthouse.ErrCorrupt) && (trail == nil || trail.Report.OK()) {
			t.Errorf("%s: no report of what is wrong", name)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestExportErrors(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	if err := statement.Export(t.Context(), f.store, "nobody", key, &bytes.Buffer{}, nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("unknown thread: %v", err)
	}
	if err := statement.Export(t.Context(), f.store, "hand", key, fullDisk{}, nil); !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("a full disk: %v", err)
	}
	if err := statement.Export(t.Context(), f.store, "hand", brokenSigner{}, &bytes.Buffer{}, nil); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("a broken signer: %v", err)
	}
	bad := mutate(f.store, "hand", func(es []*posthouse.Entry) []*posthouse.Entry { es[0].Header = nil; return es })
	if err := statement.Export(t.Context(), bad, "hand", key, &bytes.Buffer{}, nil); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("a damaged thread: %v", err)
	}
	short := mutate(f.store, "hand", func(es []*posthouse.Entry) []*posthouse.Entry { return es[:len(es)-1] })
	if err := statement.Export(t.Context(), short, "hand", key, &bytes.Buffer{}, nil); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("a thread that was cut short: %v", err)
	}
}
