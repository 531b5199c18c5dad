{{/* What every pod of the release has besides the manifests: empty without values. */}}
{{- define "aragog.pod" -}}
{{- $pod := dict }}
{{- range $name := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" }}
{{- with (index $.Values $name) }}{{ $_ := set $pod $name . }}{{ end }}
{{- end }}
{{- if $pod }}{{ toYaml $pod }}{{ end }}
{{- end }}
