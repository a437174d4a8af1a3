{{/*
SPDX-FileCopyrightText: The Cotenant Authors
SPDX-License-Identifier: Apache-2.0
*/}}

{{- define "cotenant.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Leaves room for the longest suffix, -kubelet-plugin, in a label of 63. */}}
{{- define "cotenant.fullname" -}}
{{- $name := include "cotenant.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cotenant.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "cotenant.selectorLabels" -}}
{{- if .Values.selectorLabelsOverride -}}
{{- toYaml .Values.selectorLabelsOverride -}}
{{- else -}}
app.kubernetes.io/name: {{ include "cotenant.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- end -}}

{{/* A pod's own labels win over those of its selector. */}}
{{- define "cotenant.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "cotenant.selectorLabels" . }}
{{- end -}}

{{- define "cotenant.serviceAccountName" -}}
{{- default (include "cotenant.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "cotenant.pluginServiceAccount" -}}
{{- include "cotenant.serviceAccountName" . -}}-kubeletplugin
{{- end -}}

{{- define "cotenant.controllerServiceAccount" -}}
{{- include "cotenant.serviceAccountName" . -}}-controller
{{- end -}}

{{- define "cotenant.pluginImage" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "cotenant.mpsImage" -}}
{{- printf "%s:%s" .Values.mps.image.repository .Values.mps.image.tag -}}
{{- end -}}

{{- define "cotenant.controllerImage" -}}
{{- $tag := coalesce .Values.controller.image.tag .Values.image.tag .Chart.AppVersion -}}
{{- printf "%s:%s" .Values.controller.image.repository $tag -}}
{{- end -}}

{{/* One line for each value of the upstream chart that was set and does nothing here. */}}
{{- define "cotenant.withoutEffect" -}}
{{- $v := .Values -}}
{{- range $path := list
  "altProcDevices" "consumableShares" "featureGates" "maskNvidiaDriverParams" "resourceApiVersion"
  "webhook.enabled" "controller.networkPolicy.enabled" "controller.containers.computeDomain"
  "controller.leaderElection.leaseDuration" "controller.leaderElection.renewDeadline" "controller.leaderElection.retryPeriod"
  "controller.metrics.metricsPath" "controller.metrics.profilePath"
  "kubeletPlugin.metrics" "kubeletPlugin.networkPolicy.enabled"
  "kubeletPlugin.containers.init" "kubeletPlugin.containers.computeDomains" -}}
{{- $at := $v -}}
{{- range $key := splitList "." $path -}}
{{- if kindIs "map" $at -}}{{- $at = get $at $key -}}{{- end -}}
{{- end -}}
{{- if $at }}
- {{ $path }}
{{- end -}}
{{- end -}}
{{- end -}}
