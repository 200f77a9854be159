{{- define "spanward.name" -}}
{{- default "spanward" .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for what is appended to it: "-headless", and a pod's number. */}}
{{- define "spanward.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "spanward.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "spanward.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "spanward.selectorLabels" -}}
app.kubernetes.io/name: {{ include "spanward.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spanward.labels" -}}
{{ include "spanward.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "spanward.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "spanward.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "spanward.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "spanward.specsConfigMap" -}}
{{- default (printf "%s-specs" (include "spanward.fullname" .)) .Values.existingSpecsConfigMap -}}
{{- end -}}

{{- define "spanward.hasSpecs" -}}
{{- if or .Values.specs .Values.existingSpecsConfigMap -}}true{{- end -}}
{{- end -}}

{{/* The service's configuration: what the chart decides, and over it what `config` says. */}}
{{- define "spanward.config" -}}
{{- $bind := ternary "127.0.0.1" "0.0.0.0" (eq .Values.mode "sidecar") -}}
{{- $common := dict -}}
{{- if .Values.tls.existingSecret -}}
{{- $tls := dict "cert_file" "/etc/spanward/tls/tls.crt" "key_file" "/etc/spanward/tls/tls.key" -}}
{{- if .Values.tls.clientCA -}}
{{- $_ := set $tls "client_ca_file" "/etc/spanward/tls/ca.crt" -}}
{{- end -}}
{{- $_ := set $common "tls" $tls -}}
{{- end -}}
{{- if .Values.bearerToken.existingSecret -}}
{{- $_ := set $common "bearer_token_file" "/etc/spanward/token/token" -}}
{{- end -}}
{{- $emitters := dict -}}
{{- if .Values.logVerdicts -}}
{{- $_ := set $emitters "jsonl" (dict "path" "-") -}}
{{- end -}}
{{- with .Values.verdicts -}}
{{- if .endpoint -}}
{{- $_ := set $emitters "spans" (dict "endpoint" .endpoint "protocol" .protocol) -}}
{{- end -}}
{{- end -}}
{{- $config := dict
    "receivers" (dict
      "otlp_grpc" (merge (dict "endpoint" (printf "%s:4317" $bind)) $common)
      "otlp_http" (merge (dict "endpoint" (printf "%s:4318" $bind)) (deepCopy $common))
    )
    "specs" (dict "paths" (list "/etc/spanward/specs"))
    "store" (dict "kind" "sqlite" "path" "/var/lib/spanward/spanward.db")
    "emitters" $emitters
    "admin" (dict "endpoint" "0.0.0.0:9464" "allowed_hosts" (list "${POD_IP}"))
-}}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.config)) -}}
{{- end -}}

{{/* Pods are replaced when the configuration or the specs change. */}}
{{- define "spanward.checksum" -}}
{{- printf "%s\n%s" (include "spanward.config" .) (toYaml .Values.specs) | sha256sum -}}
{{- end -}}

{{/* Where pods run: the same keys in both modes. */}}
{{- define "spanward.scheduling" -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "imagePullSecrets" -}}
{{- with index $.Values $key }}
{{ $key }}: {{- if kindIs "string" . }} {{ . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}
