{{/* The name of what a release installs: its own, with the chart's unless it says so already. */}}
{{- define "posthouse.name" -}}
{{- if contains "posthouse" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-posthouse" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels by which a Service and a budget find pods: they never change. */}}
{{- define "posthouse.selector" -}}
app.kubernetes.io/name: posthouse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "posthouse.labels" -}}
{{ include "posthouse.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The names by which clients may call the server: those of the Service, and those that were given. */}}
{{- define "posthouse.hosts" -}}
{{- $name := include "posthouse.name" . -}}
{{- $name }},{{ $name }}.{{ .Release.Namespace }},{{ $name }}.{{ .Release.Namespace }}.svc,{{ $name }}.{{ .Release.Namespace }}.svc.cluster.local
{{- if .Values.ingress.enabled }},{{ .Values.ingress.host }}{{ end }}
{{- range .Values.allowedHosts }},{{ . }}{{ end }}
{{- end -}}

{{/* What cannot work is refused before it is installed. */}}
{{- define "posthouse.check" -}}
{{- if not (or .Values.tls.secretName .Values.allowInsecure) -}}
{{- fail "a server listens beyond its pod only with a certificate: set tls.secretName, or allowInsecure=true if a proxy in front does TLS" -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- if not .Values.store.url -}}
{{- fail "more than one server needs a store that they share: set store.url, as in postgres://posthouse@db.example.com/posthouse" -}}
{{- end -}}
{{- if not .Values.persistence.existingClaim -}}
{{- fail "more than one server needs the keys and tokens that they share: set persistence.existingClaim to a claim with ReadWriteMany" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "an ingress needs a name: set ingress.host" -}}
{{- end -}}
{{- end -}}
