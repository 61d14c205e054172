package shipping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

const chart = "deploy/helm/posthouse"

// An object is one that Kubernetes is given.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Replicas       int
		ServiceName    string `yaml:"serviceName"`
		MaxUnavailable int    `yaml:"maxUnavailable"`
		Selector       yaml.Node
		Template       struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		Claims []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		Ports  []struct {
			Name, TargetPort string
			Port             int
		}
		Rules []struct{ Host string }
	}
}

type pod struct {
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	Automount          *bool `yaml:"automountServiceAccountToken"`
	Grace              int   `yaml:"terminationGracePeriodSeconds"`
	Security           struct {
		NonRoot bool   `yaml:"runAsNonRoot"`
		User    int    `yaml:"runAsUser"`
		Group   int    `yaml:"fsGroup"`
		Change  string `yaml:"fsGroupChangePolicy"`
	} `yaml:"securityContext"`
	Containers []container
	Volumes    []struct {
		Name   string
		Secret *struct {
			Name string `yaml:"secretName"`
			Mode int    `yaml:"defaultMode"`
		}
		Claim *struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
		EmptyDir *struct{} `yaml:"emptyDir"`
	}
}

type container struct {
	Image string
	Args  []string
	Env   []struct{ Name, Value string }
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Startup   probe `yaml:"startupProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Security  struct {
		Escalation *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly   bool                    `yaml:"readOnlyRootFilesystem"`
		Caps       struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	Get struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

// merge puts values over defaults, as helm install -f does.
func merge(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	for k, v := range over {
		below, isMap := out[k].(map[string]any)
		above, isMaps := v.(map[string]any)
		if isMap && isMaps {
			v = merge(below, above)
		}
		out[k] = v
	}
	return out
}

// render makes the chart's objects from values in YAML. It has the functions of Helm's
// templates that the chart uses, and checks values by the chart's schema first, as Helm does.
func render(t *testing.T, release, values string) (map[string]*object, error) {
	t.Helper()
	all := merge(*parse[map[string]any](t, chart+"/values.yaml"), decode[map[string]any](t, values))
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(read(t, chart+"/values.schema.json")), schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(all); err != nil {
		return nil, err
	}
	set := template.New(chart).Option("missingkey=error")
	set.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := set.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"join": func(separator string, list []any) string {
			var texts []string
			for _, v := range list {
				texts = append(texts, fmt.Sprint(v))
			}
			return strings.Join(texts, separator)
		},
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(b), "\n"), err
		},
		"nindent": func(n int, s string) string {
			pad := "\n" + strings.Repeat(" ", n)
			return pad + strings.ReplaceAll(s, "\n", pad)
		},
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"default": func(instead, v string) string {
			if v == "" {
				return instead
			}
			return v
		},
		"int":  func(v int) int { return v },
		"fail": func(why string) (string, error) { return "", errors.New(why) },
	})
	files, err := filepath.Glob(filepath.Join(root, chart, "templates/*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	about := *parse[map[string]any](t, chart+"/Chart.yaml")
	data := map[string]any{
		"Values":  all,
		"Chart":   map[string]any{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": release, "Namespace": "agents", "Service": "Helm"},
	}
	objects := map[string]*object{}
	for _, f := range files {
		var b bytes.Buffer
		if err := set.ExecuteTemplate(&b, filepath.Base(f), data); err != nil {
			return nil, err
		}
		if filepath.Ext(f) != ".yaml" || strings.TrimSpace(b.String()) == "" {
			continue
		}
		o := decode[object](t, b.String())
		if objects[o.Kind] != nil {
			t.Errorf("two objects of kind %s", o.Kind)
		}
		objects[o.Kind] = &o
	}
	return objects, nil
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// TestChart renders the chart for one server and for several, and looks at what Kubernetes is
// told: how a server is probed and ended, what it may, and where its secrets are.
func TestChart(t *testing.T) {
	for _, c := range []struct {
		name, release, values string
		kinds                 []string
		env                   map[string]string
		volumes               []string
		scheme                string
	}{
		{
			"one server with SQLite", "posthouse", "tls: {secretName: posthouse-tls}",
			[]string{"PodDisruptionBudget", "Service", "StatefulSet"},
			map[string]string{
				"POSTHOUSE_DATA_DIR": "/data/posthouse", "POSTHOUSE_ADDR": "0.0.0.0:8095", "POSTHOUSE_LOG_LEVEL": "info",
				"POSTHOUSE_TLS_CERT": "/secrets/tls/tls.crt", "POSTHOUSE_TLS_KEY": "/secrets/tls/tls.key",
				"POSTHOUSE_ALLOWED_HOST": "posthouse,posthouse.agents,posthouse.agents.svc,posthouse.agents.svc.cluster.local",
			},
			[]string{"claim data", "empty tmp", "secret posthouse-tls"}, "HTTPS",
		},
		{
			"three servers with Postgres and NATS", "prod", `
allowInsecure: true
replicas: 3
allowedHosts: [approvals.example.com]
trustProxy: [10.1.0.0/16, 10.2.0.7]
store: {url: "postgres://posthouse@db/posthouse", passwordSecret: db}
nats: {url: "tls://nats:4222", credentialsSecret: nats}
persistence: {existingClaim: shared}
ingress: {enabled: true, host: posthouse.example.com, tlsSecretName: web, className: nginx, annotations: {a: b}}
encrypt: true
retain: {finished: 90d}
extraEnv: [{name: POSTHOUSE_TASK_LIMIT, value: transcribe=2}]
podLabels: {team: payments}
podAnnotations: {a: b}
nodeSelector: {disk: ssd}
tolerations: [{key: dedicated, operator: Exists}]
topologySpreadConstraints: [{maxSkew: 1}]
affinity: {podAntiAffinity: {}}
priorityClassName: high
imagePullSecrets: [{name: registry}]
service: {type: LoadBalancer, port: 80, annotations: {c: d}}
`,
			[]string{"Ingress", "PodDisruptionBudget", "Service", "StatefulSet"},
			map[string]string{
				"POSTHOUSE_DATA_DIR": "/data/posthouse", "POSTHOUSE_ADDR": "0.0.0.0:8095", "POSTHOUSE_LOG_LEVEL": "info",
				"POSTHOUSE_ALLOW_INSECURE": "true", "POSTHOUSE_STORE": "postgres://posthouse@db/posthouse", "PGPASSFILE": "/secrets/store/pgpass",
				"POSTHOUSE_NATS": "tls://nats:4222", "POSTHOUSE_NATS_CREDS": "/secrets/nats/nats.creds", "POSTHOUSE_ENCRYPT": "true",
				"POSTHOUSE_RETAIN_FINISHED": "90d", "POSTHOUSE_TASK_LIMIT": "transcribe=2", "POSTHOUSE_TRUST_PROXY": "10.1.0.0/16,10.2.0.7",
				"POSTHOUSE_ALLOWED_HOST": "prod-posthouse,prod-posthouse.agents,prod-posthouse.agents.svc,prod-posthouse.agents.svc.cluster.local,posthouse.example.com,approvals.example.com",
			},
			[]string{"claim shared", "empty tmp", "secret db", "secret nats"}, "HTTP",
		},
	} {
		objects, err := render(t, c.release, c.values)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if kinds := slices.Sorted(maps.Keys(objects)); !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s: the objects are %q, want %q", c.name, kinds, c.kinds)
			continue
		}
		name := c.env["POSTHOUSE_ALLOWED_HOST"]
		name, _, _ = strings.Cut(name, ",")
		for kind, o := range objects {
			if o.Metadata.Name != name || o.Metadata.Labels["app.kubernetes.io/instance"] != c.release {
				t.Errorf("%s: the %s is %+v, want the name %s", c.name, kind, o.Metadata, name)
			}
		}
		set := &objects["StatefulSet"].Spec
		p := &set.Template.Spec
		server := p.Containers[0]
		env := map[string]string{}
		for _, v := range server.Env {
			env[v.Name] = v.Value
		}
		if !maps.Equal(env, c.env) {
			t.Errorf("%s: the variables are\n%v, want\n%v", c.name, env, c.env)
		}
		var volumes, names []string
		for _, v := range p.Volumes {
			names = append(names, v.Name)
			switch {
			case v.Secret != nil:
				volumes = append(volumes, "secret "+v.Secret.Name)
				if v.Secret.Mode != 0o440 {
					t.Errorf("%s: the secret %s has the mode %o", c.name, v.Secret.Name, v.Secret.Mode)
				}
			case v.Claim != nil:
				volumes = append(volumes, "claim "+v.Claim.Name)
			case v.EmptyDir != nil:
				volumes = append(volumes, "empty "+v.Name)
			}
		}
		for _, v := range set.Claims {
			names = append(names, v.Metadata.Name)
			volumes = append(volumes, "claim "+v.Metadata.Name)
		}
		slices.Sort(volumes)
		if !slices.Equal(volumes, c.volumes) {
			t.Errorf("%s: the volumes are %q, want %q", c.name, volumes, c.volumes)
		}
		var mounts []string
		for _, m := range server.Mounts {
			mounts = append(mounts, m.Name)
		}
		slices.Sort(names)
		slices.Sort(mounts)
		if !slices.Equal(names, mounts) {
			t.Errorf("%s: the volumes %q are mounted as %q", c.name, names, mounts)
		}
		for path, probe := range map[string]probe{"/healthz": server.Liveness, "/readyz": server.Readiness} {
			if probe.Get.Path != path || probe.Get.Port != "api" || probe.Get.Scheme != c.scheme {
				t.Errorf("%s: a probe asks %+v, want %s of %s over %s", c.name, probe.Get, path, "api", c.scheme)
			}
		}
		confined(t, c.name, p)
		if want := objects["PodDisruptionBudget"].Spec.MaxUnavailable; want != 1 {
			t.Errorf("%s: %d servers may be away at once", c.name, want)
		}
		labels := set.Template.Metadata.Labels
		for _, kind := range []string{"Service", "PodDisruptionBudget", "StatefulSet"} {
			selected := 0
			for label := range strings.SplitSeq(strings.TrimSpace(text(&objects[kind].Spec.Selector)), "\n") {
				if labels[label] != "" {
					selected++
				}
			}
			if selected != 2 {
				t.Errorf("%s: the %s selects pods by %q, and they have %v", c.name, kind, text(&objects[kind].Spec.Selector), labels)
			}
		}
		if server.Startup.Get.Path != "/healthz" || server.Image != "ghcr.io/posthouse/posthouse:0.1.0" || !slices.Equal(server.Args, []string{"serve"}) {
			t.Errorf("%s: the container is %+v", c.name, server)
		}
	}
}

// confined reports what a pod may that it need not.
func confined(t *testing.T, name string, p *pod) {
	t.Helper()
	if p.EnableServiceLinks == nil || *p.EnableServiceLinks || p.Automount == nil || *p.Automount || p.Grace < 30 {
		t.Errorf("%s: the pod is given variables of Services or a token, or is killed while it drains: %+v", name, p)
	}
	if s := p.Security; !s.NonRoot || s.User != 65532 || s.Group != 65532 || s.Change != "OnRootMismatch" {
		t.Errorf("%s: the pod runs as %+v", name, s)
	}
	if s := p.Containers[0].Security; s.Escalation == nil || *s.Escalation || !s.ReadOnly || !slices.Equal(s.Caps.Drop, []string{"ALL"}) {
		t.Errorf("%s: the container may %+v", name, s)
	}
}

// TestChartRefuses gives the chart values that cannot work.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"{}":                                 "tls.secretName",
		"{allowInsecure: true, replicas: 2}": "set store.url",
		"{allowInsecure: true, replicas: 2, store: {url: 'postgres://db/x'}}": "persistence.existingClaim",
		"{allowInsecure: true, ingress: {enabled: true}}":                     "ingress.host",
		"{allowInsecure: true, replica: 2}":                                   "replica",
		"{allowInsecure: true, store: {url: 'postgres://me:hunter2@db/x'}}":   "not",
		"{allowInsecure: true, replicas: 0}":                                  "minimum",
		"{allowInsecure: true, persistence: {accessMode: ReadOnlyMany}}":      "enum",
		"{allowInsecure: true, nats: {url: 'nats://me:hunter2@nats:4222'}}":   "not",
	} {
		_, err := render(t, "posthouse", values)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that names %s", values, err, want)
		}
	}
}
