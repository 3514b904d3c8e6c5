{{/* The beginning of all names. Short enough for the longest ending and the random part of a pod's name. */}}
{{- define "ledgerbell.name" -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- .Values.fullnameOverride | default $default | trunc 47 | trimSuffix "-" -}}
{{- end }}

{{/* What never changes, so that it can select pods. */}}
{{- define "ledgerbell.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ledgerbell.labels" -}}
{{ include "ledgerbell.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* "yes" if the operators' listener is reachable from outside of a pod, which needs a name and a password. */}}
{{- define "ledgerbell.opsOpen" -}}
{{- $keys := .Values.secret.keys -}}
{{- if and $keys.ADMIN_USER $keys.ADMIN_PASSWORD -}}yes
{{- else if or $keys.ADMIN_USER $keys.ADMIN_PASSWORD -}}
{{- fail "Set secret.keys.ADMIN_USER and secret.keys.ADMIN_PASSWORD, or neither." -}}
{{- end -}}
{{- end }}

{{/* The autoscaler of a role, as YAML, or {}. Its argument: (dict "root" $ "role" "api"). */}}
{{- define "ledgerbell.autoscaler" -}}
{{- $autoscaling := .root.Values.autoscaling -}}
{{- if and $autoscaling.delivery.enabled $autoscaling.keda.enabled -}}
{{- fail "autoscaling.delivery and autoscaling.keda both scale the role delivery. Enable one of them." -}}
{{- end -}}
{{- $own := get $autoscaling .role | default dict -}}
{{- if and (eq .role "delivery") $autoscaling.keda.enabled -}}{{- $own = $autoscaling.keda -}}{{- end -}}
{{- ternary $own dict ($own.enabled | default false) | toYaml -}}
{{- end }}

{{/* The parts of a pod that all roles and the migration have in common. Its argument:
     (dict "root" $ "command" (list …) "env" (dict …) "resources" (dict …) "more" "YAML of the container"). */}}
{{- define "ledgerbell.pod" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
automountServiceAccountToken: false
# Kubernetes would add variables for each Service of the namespace.
enableServiceLinks: false
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: ledgerbell
    image: {{ $values.image.repository }}{{ if $values.image.digest }}@{{ $values.image.digest }}{{ else }}:{{ $values.image.tag | default $root.Chart.AppVersion }}{{ end }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    command: {{ toJson .command }}
    env:
      {{- range $name, $value := dict "HOST" $values.listenAddress "PORT" 3000 "OPS_PORT" 3001 }}
      - name: {{ $name }}
        value: {{ $value | quote }}
      {{- end }}
      {{- if include "ledgerbell.opsOpen" $root }}
      - name: OPS_HOST
        value: {{ $values.listenAddress | quote }}
      # Not a secret, and the only one of these variables that the program does not read from a file.
      - name: ADMIN_USER
        valueFrom:
          secretKeyRef:
            name: {{ $values.secret.name }}
            key: {{ $values.secret.keys.ADMIN_USER }}
      {{- end }}
      {{- range $name, $key := omit $values.secret.keys "ADMIN_USER" }}
      {{- if $key }}
      - name: {{ $name }}_FILE
        value: /run/secrets/ledgerbell/{{ $name }}
      {{- end }}
      {{- end }}
      {{- range $name, $value := merge (dict) .env $values.env }}
      - name: {{ $name }}
        value: {{ $value | quote }}
      {{- end }}
    resources:
      {{- toYaml .resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - name: tmp
        mountPath: /tmp
      - name: secret
        mountPath: /run/secrets/ledgerbell
        readOnly: true
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- with .more }}
    {{- . | nindent 4 }}
    {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  - name: secret
    secret:
      secretName: {{ $values.secret.name }}
      # 0440: for the group, which is fsGroup.
      defaultMode: 288
      items:
        {{- range $name, $key := omit $values.secret.keys "ADMIN_USER" }}
        {{- if $key }}
        - key: {{ $key }}
          path: {{ $name }}
        {{- end }}
        {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* A probe. The API's listener always answers. The operators' listener of another role answers the kubelet only if it is open: without
     a password it is on loopback, where a command in the pod has to ask. Its argument: (dict "root" $ "role" "api" "path" "/healthz"). */}}
{{- define "ledgerbell.probe" -}}
{{- if or (eq .role "api") (include "ledgerbell.opsOpen" .root) -}}
httpGet:
  path: {{ .path }}
  port: {{ ternary "http" "ops" (eq .role "api") }}
{{- else -}}
exec:
  command:
    - node
    - -e
    - "fetch('http://127.0.0.1:3001{{ .path }}').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"
{{- end }}
timeoutSeconds: 5
{{- end }}
