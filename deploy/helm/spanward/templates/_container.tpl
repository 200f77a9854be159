{{/* The container of spanward, without the list's dash. */}}
{{- define "spanward.container" -}}
name: spanward
image: {{ include "spanward.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [serve, --config, /etc/spanward/config/spanward.yaml{{ if .Values.drain }}, --drain{{ end }}]
env:
  # By this address the kubelet and Prometheus call the admin pages, which answer to known names.
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - {name: otlp-grpc, containerPort: 4317}
  - {name: otlp-http, containerPort: 4318}
  - {name: admin, containerPort: 9464}
startupProbe: # a large store is checked when it is opened
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 5
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: spanward-store, mountPath: /var/lib/spanward}
  - {name: spanward-config, mountPath: /etc/spanward/config, readOnly: true}
  {{- if include "spanward.hasSpecs" . }}
  - {name: spanward-specs, mountPath: /etc/spanward/specs, readOnly: true}
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - {name: spanward-tls, mountPath: /etc/spanward/tls, readOnly: true}
  {{- end }}
  {{- if .Values.bearerToken.existingSecret }}
  - {name: spanward-token, mountPath: /etc/spanward/token, readOnly: true}
  {{- end }}
{{- end -}}

{{/* The volumes of that container but the store's, as a list. */}}
{{- define "spanward.sources" -}}
- name: spanward-config
  configMap: {name: {{ include "spanward.fullname" . }}-config}
{{- if include "spanward.hasSpecs" . }}
- name: spanward-specs
  configMap: {name: {{ include "spanward.specsConfigMap" . }}}
{{- end }}
{{- with .Values.tls.existingSecret }}
- name: spanward-tls
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .Values.bearerToken }}
{{- if .existingSecret }}
- name: spanward-token
  secret:
    secretName: {{ .existingSecret }}
    items: [{key: {{ .key }}, path: token}]
{{- end }}
{{- end }}
{{- end -}}

{{/*
For a chart of your own that has this one as a dependency with `mode: sidecar`; the context is
.Subcharts.spanward. The list of init containers: one that keeps running beside the others, is
ready before they start, and stops after them.
*/}}
{{- define "spanward.sidecar" -}}
- restartPolicy: Always
  {{- include "spanward.container" . | nindent 2 }}
{{- end -}}

{{/* The volumes that it needs. */}}
{{- define "spanward.volumes" -}}
- name: spanward-store # as long as the pod lives, and so the sessions in it
  emptyDir: {sizeLimit: {{ .Values.sidecar.storeSizeLimit }}}
{{ include "spanward.sources" . }}
{{- end -}}

{{/* What the agent's containers must have in their environment, for any OpenTelemetry SDK. */}}
{{- define "spanward.agentEnv" -}}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://127.0.0.1:4317"}
- {name: OTEL_EXPORTER_OTLP_PROTOCOL, value: grpc}
- {name: OTEL_BSP_SCHEDULE_DELAY, value: "500"}
- {name: OTEL_BLRP_SCHEDULE_DELAY, value: "500"}
{{- end -}}
