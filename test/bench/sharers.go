// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// sharers is what was measured of MPS on a node of its own, with its supervisor.
type sharers struct {
	// alone and beside are prepares of a whole GPU without and with a start on
	// another GPU that hangs, in turns. ms.
	alone, beside sample
	// first and second are prepares of the first share of a GPU, which starts its
	// daemon, and of the second. ms.
	first, second sample
	// slow is how long the daemon's start took that is slow, and converged how long
	// until the kubelet had the grant, after calls of it.
	slow, converged time.Duration
	calls           int
}

// The prepares beside a hanging start are cut into rounds, each of which begins with
// some that are not measured: starting the program that hangs takes the processor too.
// A p99 needs many more of them than a p50.
const (
	rounds    = 6
	unsettled = 10
	perPair   = 4
)

// quarter is the policy of the node: its GPUs may be whole or shared by four.
const quarter = `
apiVersion: cotenant.dev/v1alpha1
kind: SharingPolicy
metadata: {name: sharers}
spec:
  nodeSelector: {matchLabels: {bench: sharers}}
  offers:
  - {name: whole, classNames: [gpu.nvidia.com], device: {type: GPU}}
  - name: quarter
    classNames: [serve]
    device: {type: GPU}
    sharing: {mode: MPS, shares: 4}
`

// byMPS is a configuration that starts a daemon for a claim's own GPU.
const byMPS = `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"MPS"}}`

// sharing measures MPS.
func (b *bench) sharing(ctx context.Context) (*sharers, error) {
	n, err := b.sharingNode(ctx)
	if err != nil {
		return nil, err
	}
	m := &sharers{slow: b.effort.slowStart}
	err = m.measure(ctx, b, n)
	return m, errors.Join(err, n.stop())
}

// sharingNode starts the supervisor and the plugin on a node that the policy selects.
func (b *bench) sharingNode(ctx context.Context) (*node, error) {
	const name = "sharers"
	if _, err := b.lab.Kubectl(ctx, "apply", "--server-side", "-f", b.lab.Path("deploy/helm/cotenant/crds")); err != nil {
		return nil, err
	}
	if _, err := b.lab.Kubectl(ctx, "wait", "--for", "condition=Established", "--timeout", "30s", "crd", "sharingpolicies.cotenant.dev", "gpunodes.cotenant.dev"); err != nil {
		return nil, err
	}
	if err := b.lab.Apply(ctx, quarter); err != nil {
		return nil, err
	}
	if err := b.scheduler.makeNode(ctx, name, map[string]string{"bench": name}); err != nil {
		return nil, err
	}
	n, err := newNode(b.lab, filepath.Join(b.dir, "bin", program), name, filepath.Join(b.dir, "s"), b.tools)
	if err != nil {
		return nil, err
	}
	if err := n.supervise(ctx, filepath.Join(b.lab.Out(), "bin", "cotenant-mps")); err != nil {
		return nil, err
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

func (m *sharers) measure(ctx context.Context, b *bench, n *node) error {
	slot, err := b.shareOf(ctx, n.name, "gpu-2")
	if err != nil {
		return err
	}
	if err := m.shares(ctx, b, n, slot); err != nil {
		return fmt.Errorf("shares: %w", err)
	}
	if err := m.hanging(ctx, b, n); err != nil {
		return fmt.Errorf("beside a start that hangs: %w", err)
	}
	if err := m.converge(ctx, b, n); err != nil {
		return fmt.Errorf("a slow start: %w", err)
	}
	return n.expect(ctx, 0)
}

// shareOf waits for the share device of a GPU.
func (b *bench) shareOf(ctx context.Context, node, gpu string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		list, err := b.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return "", fmt.Errorf("wait for shares of %s: %w", gpu, err)
		}
		for _, s := range list.Items {
			for _, d := range s.Spec.Devices {
				if strings.HasPrefix(d.Name, gpu+"-quarter-") {
					return d.Name, nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("node %s publishes no share of %s", node, gpu)
		case <-time.After(10 * time.Millisecond): // polls the API server
		}
	}
}

// shares prepares the first and the second share of a GPU, again and again.
func (m *sharers) shares(ctx context.Context, b *bench, n *node, slot string) error {
	for i := range b.effort.bursts * 4 {
		var claims [2]*drav1.Claim
		for j := range claims {
			name := fmt.Sprintf("%s-share-%d-%d", n.name, i, j)
			want := allocated(n.name, name, slot, ordinary)
			want.Status.Allocation.Devices.Results[0].ShareID = new(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i*2+j)))
			var err error
			if claims[j], err = b.scheduler.allocateOne(ctx, want); err != nil {
				return err
			}
		}
		if err := m.first.take(func() error { return n.kubelet.prepare(ctx, claims[0]) }); err != nil {
			return err
		}
		if err := m.second.take(func() error { return n.kubelet.prepare(ctx, claims[1]) }); err != nil {
			return err
		}
		if err := n.kubelet.unprepare(ctx, claims[:]...); err != nil {
			return err
		}
	}
	return nil
}

// hanging prepares a whole GPU in turns without and with a start on another GPU that
// never comes to an end.
func (m *sharers) hanging(ctx context.Context, b *bench, n *node) error {
	claims, err := b.scheduler.allocate(ctx, n.name, "beside", 2, ordinary) // the second has gpu-1
	if err != nil {
		return err
	}
	turn := func(s *sample) error {
		for i := range unsettled + perPair*b.effort.pairs/rounds {
			into := s
			if i < unsettled {
				into = new(sample)
			}
			if err := m.pair(ctx, n, into, claims[1]); err != nil {
				return err
			}
		}
		return nil
	}
	for round := range rounds {
		if err := turn(&m.alone); err != nil {
			return err
		}
		stuck, err := b.mpsClaim(ctx, n.name, fmt.Sprintf("stuck-%d", round), "gpu-0")
		if err != nil {
			return err
		}
		begun, err := n.beginHanging(ctx, stuck)
		if err != nil {
			return err
		}
		if err := turn(&m.beside); err != nil {
			return err
		}
		if err := errors.Join(n.kubelet.unprepare(ctx, stuck), n.machine.ClearFaults()); err != nil {
			return err
		}
		if err := <-begun; err == nil {
			return errors.New("the start that was to hang came to an end")
		}
	}
	return nil
}

func (m *sharers) pair(ctx context.Context, n *node, s *sample, c *drav1.Claim) error {
	return errors.Join(s.take(func() error { return n.kubelet.prepare(ctx, c) }), n.kubelet.unprepare(ctx, c))
}

// beginHanging prepares a claim whose daemon never serves, and returns when its
// control program runs. What the prepare comes to is sent.
func (n *node) beginHanging(ctx context.Context, c *drav1.Claim) (<-chan error, error) {
	if err := n.machine.Inject(sim.Fault{Match: sim.Match{Call: sim.MPSControlStart, GPU: new(0)}, Do: sim.Do{Hang: true}}); err != nil {
		return nil, err
	}
	began := make(chan error, 1)
	go func() { began <- n.kubelet.prepare(ctx, c) }()
	for range 1000 {
		s, err := n.machine.State()
		if err != nil {
			return nil, err
		}
		if s.GPUs[0].ComputeMode == sim.ComputeExclusiveProcess {
			return began, nil
		}
		select {
		case err := <-began:
			return nil, fmt.Errorf("the start that was to hang ended: %w", err)
		case <-time.After(10 * time.Millisecond): // polls the machine
		}
	}
	return nil, errors.New("the start that is to hang did not begin")
}

// converge prepares a claim whose daemon takes long to serve, as the kubelet does:
// it calls again when a call ends.
func (m *sharers) converge(ctx context.Context, b *bench, n *node) error {
	c, err := b.mpsClaim(ctx, n.name, "slow", "gpu-0")
	if err != nil {
		return err
	}
	err = n.machine.Inject(sim.Fault{Match: sim.Match{Call: sim.MPSControlStart, GPU: new(0)}, Do: sim.Do{Delay: m.slow}})
	if err != nil {
		return err
	}
	begun := time.Now()
	for {
		m.calls++
		err := n.kubelet.prepare(ctx, c)
		m.converged = time.Since(begun)
		if err == nil {
			break
		}
		if m.converged > 3*m.slow+startTimeout || ctx.Err() != nil {
			return err
		}
	}
	return errors.Join(n.kubelet.unprepare(ctx, c), n.machine.ClearFaults())
}

// mpsClaim writes a claim for a whole GPU with a daemon of its own.
func (b *bench) mpsClaim(ctx context.Context, node, prefix, device string) (*drav1.Claim, error) {
	want := allocated(node, node+"-"+prefix, device, ordinary)
	want.Status.Allocation.Devices.Config = []resourceapi.DeviceAllocationConfiguration{{
		Source: resourceapi.AllocationConfigSourceClaim,
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: api.DriverName, Parameters: runtime.RawExtension{Raw: []byte(byMPS)}}},
	}}
	return b.scheduler.allocateOne(ctx, want)
}

// supervise starts the supervisor of the node's daemons and waits until it answers.
func (n *node) supervise(ctx context.Context, program string) error {
	root := n.machine.Root()
	n.mpsSocket, n.mpsRoot = filepath.Join(n.dir, "mps.sock"), filepath.Join(n.dir, "m")
	// What is mounted below it is to be seen by others, as below a volume with
	// propagation in a pod.
	if err := os.Mkdir(n.mpsRoot, 0o755); err != nil {
		return err
	}
	if err := errors.Join(syscall.Mount(n.mpsRoot, n.mpsRoot, "", syscall.MS_BIND, ""), syscall.Mount("", n.mpsRoot, "", syscall.MS_SHARED, "")); err != nil {
		return fmt.Errorf("make %s a shared mount: %w; run it as root", n.mpsRoot, err)
	}
	p, err := startProcess(n.log, []string{"COTENANT_SIM_STATE=" + n.machine.Dir(), "PATH=/usr/bin:/bin"}, program,
		"--socket", n.mpsSocket, "--root", n.mpsRoot, "--log-dir", filepath.Join(n.dir, "mps-logs"), "--driver-root", root)
	if err != nil {
		return err
	}
	n.supervisor = p
	if err := awaitListener(ctx, n.mpsSocket, p.ended); err != nil {
		return errors.Join(fmt.Errorf("%w; cotenant-mps said:\n%s", err, p.lastWords()), n.stop())
	}
	return nil
}
