// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Eventually asks every 100 ms until the condition returns "", or fails with
// what it last returned.
func Eventually(ctx context.Context, within time.Duration, condition func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := "never asked"
	for {
		why, err := condition(ctx)
		switch {
		case err == nil && why == "":
			return nil
		case err == nil:
			last = why
		case !errors.Is(err, context.DeadlineExceeded):
			last = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s", within, last)
		case <-tick.C:
		}
	}
}

// podPatience is how long a pod may take; the nodes are two shared cores.
const podPatience = 2 * time.Minute

// PodRunning waits until the pod runs with all containers ready.
func (l *Lab) PodRunning(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := Eventually(ctx, podPatience, func(ctx context.Context) (string, error) {
		var err error
		pod, err = l.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return notReady(pod), nil
	})
	if err != nil {
		described, _ := l.Kubectl(context.WithoutCancel(ctx), "-n", namespace, "describe", "pod", name)
		return nil, fmt.Errorf("pod %s/%s: %w\n%s", namespace, name, err, described)
	}
	return pod, nil
}

func notReady(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodRunning {
		return "it is " + string(pod.Status.Phase)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if !c.Ready {
			return "container " + c.Name + " is not ready"
		}
	}
	return ""
}
