// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package sharing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab/labtest"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// container is what runc was given: the variables and the writable mounts that
// sharing is about.
type container struct {
	env    []string
	mounts map[string]string
}

func (t test) container(pod, name string) container {
	t.Helper()
	var spec struct {
		Process struct{ Env []string }
		Mounts  []struct {
			Source, Destination string
			Options             []string
		}
	}
	t.OCISpec(node, pod, name, &spec)
	c := container{mounts: map[string]string{}}
	for _, e := range spec.Process.Env {
		if strings.HasPrefix(e, "CUDA_") || strings.HasPrefix(e, "COTENANT_") || strings.HasPrefix(e, "NVIDIA_VISIBLE") {
			c.env = append(c.env, e)
		}
	}
	slices.Sort(c.env)
	for _, m := range spec.Mounts {
		if m.Destination == "/dev/shm" && strings.Contains(m.Source, "cotenant") || strings.Contains(m.Destination, "nvidia-mps") {
			c.mounts[m.Destination] = m.Source + " " + strings.Join(m.Options, ",")
		}
	}
	return c
}

// The manual's examples of sharing inside a claim, as the upstream driver has it, with
// the environment and the mounts that it gives, and of shares.
func TestExamples(t *testing.T) {
	begin(t)
	mps := []string{"CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps", "NVIDIA_VISIBLE_DEVICES=void"}
	alone := []string{"NVIDIA_VISIBLE_DEVICES=void"}
	for _, c := range []struct {
		example    string
		containers []string // "pod/container"
		env        []string
		mounts     bool
		limit      int64
		threads    float64
		sees       string
		check      func(test)
	}{
		{"turns-in-a-claim", []string{"turns-in-a-claim/first", "turns-in-a-claim/second"}, alone, false, 0, 100, "GPU-", func(lt test) {
			lt.Same("time-slices", fmt.Sprint(lt.gpu(0).TimeSlice, lt.gpu(1).TimeSlice), "1 0")
		}},
		{"mps-in-a-claim", []string{"mps-in-a-claim/first", "mps-in-a-claim/second"}, mps, true, 10240, 50, "GPU-", func(lt test) {
			lt.Same("compute modes", fmt.Sprint(lt.gpu(0).ComputeMode, lt.gpu(1).ComputeMode), fmt.Sprint(sim.ComputeExclusiveProcess, sim.ComputeDefault))
		}},
		{"mps-shared-claim", []string{"mps-shared-1/main", "mps-shared-2/main"}, mps, true, 30720, 100, "GPU-", nil},
		{"mps-on-a-partition", []string{"mps-on-a-partition/first", "mps-on-a-partition/second"}, mps, true, 4096, 50, "MIG-", nil},
		{"share-by-extended-resource", []string{"share-by-extended-resource/main"}, append([]string{
			"COTENANT_COMPUTE_PERCENT=25", "COTENANT_MEMORY_BYTES=19327352832", "COTENANT_MEMORY_FRACTION=0.2259", "COTENANT_MEMORY_LIMIT=process",
			"COTENANT_OFFER=quarter", "COTENANT_SHARE=1/4"}, mps...), true, 18432, 25, "GPU-", nil},
		{"share-by-claim", []string{"share-by-claim/main"}, append([]string{
			"COTENANT_COMPUTE_PERCENT=100", "COTENANT_MEMORY_BYTES=10355736576", "COTENANT_MEMORY_FRACTION=0.121", "COTENANT_MEMORY_LIMIT=none",
			"COTENANT_OFFER=eighth", "COTENANT_SHARE=1/8"}, alone...), false, 0, 100, "GPU-", nil},
	} {
		t.Run(c.example, func(t *testing.T) {
			lt := test{labtest.T{T: t, Lab: cluster}}
			lt.Use(lt.Example(c.example))
			sources := map[string]bool{}
			for _, who := range c.containers {
				pod, name, _ := strings.Cut(who, "/")
				got := lt.container(pod, name)
				lt.Same("environment of "+who, fmt.Sprint(got.env), fmt.Sprint(c.env))
				if !c.mounts {
					lt.Same("mounts of "+who, fmt.Sprint(got.mounts), "map[]")
				} else {
					shm, options, _ := strings.Cut(got.mounts["/dev/shm"], " ")
					pipe, _, _ := strings.Cut(got.mounts["/tmp/nvidia-mps"], " ")
					for _, want := range []string{"rw", "nosuid", "nodev", "bind"} {
						if !slices.Contains(strings.Split(options, ","), want) {
							t.Errorf("%s: options of /dev/shm are %s", who, options)
						}
					}
					if dir := filepath.Dir(pipe); shm != dir+"/shm" || pipe != dir+"/pipe" || filepath.Dir(dir) != "/run/cotenant/mps" {
						t.Errorf("%s has mounts %v", who, got.mounts)
					}
					sources[shm] = true
				}
				r := lt.cuda("default", pod, name, "--memory", "1Gi")
				d := r.Devices[0]
				if r.Error != "" || d.Error != "" || (r.MPS != nil) != c.mounts || d.Limit != c.limit || d.Threads != c.threads || !strings.HasPrefix(d.UUID, c.sees) {
					t.Errorf("%s: simcuda says %+v", who, r)
				}
			}
			if len(sources) > 1 {
				t.Errorf("the containers have several daemons: %v", sources)
			}
			if c.check != nil {
				c.check(lt)
			}
		})
		test{labtest.T{T: t, Lab: cluster}}.asBefore()
	}
}
