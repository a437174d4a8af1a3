// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/sharing"
)

// PrepareResourceClaims implements kubeletplugin.DRAPlugin. The claims of one
// call do not wait for each other, and one that fails hides no other's result.
func (d *Driver) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := make([]kubeletplugin.PrepareResult, len(claims))
	var wg sync.WaitGroup
	for i, rc := range claims {
		wg.Go(func() { results[i] = d.prepareOne(ctx, rc) })
	}
	wg.Wait()
	out := make(map[types.UID]kubeletplugin.PrepareResult, len(claims))
	for i, rc := range claims {
		out[rc.UID] = results[i]
	}
	return out, nil
}

// answerWithin is how long a call waits for its claim. The kubelet gives up after
// 45 s and learns nothing; this way it learns what is being waited for.
const answerWithin = 30 * time.Second

func (d *Driver) prepareOne(ctx context.Context, rc *resourceapi.ResourceClaim) kubeletplugin.PrepareResult {
	log := klog.FromContext(ctx).WithValues("claim", klog.KObj(rc), "claimUID", rc.UID)
	claim, err := decode(rc, d.cfg.NodeName)
	if err != nil {
		log.Info("Claim refused", "reason", err.Error())
		return kubeletplugin.PrepareResult{Err: err}
	}
	within, cancel := context.WithTimeout(ctx, d.cfg.AnswerWithin)
	defer cancel()
	grant, err := d.flights.fly(within, d.base, claim.UID, preparing, func(ctx context.Context) (sharing.Grant, error) {
		return d.pipe.prepare(ctx, claim)
	})
	if err != nil {
		log.Info("Claim not prepared", "reason", err.Error())
		return kubeletplugin.PrepareResult{Err: err}
	}
	log.V(1).Info("Claim prepared", "devices", names(grant))
	return kubeletplugin.PrepareResult{Devices: answer(grant)}
}

// names are the devices of a grant, for the log.
func names(g sharing.Grant) []string {
	var out []string
	for _, d := range g.Devices {
		out = append(out, d.Device)
	}
	return out
}

func answer(g sharing.Grant) []kubeletplugin.Device {
	out := make([]kubeletplugin.Device, 0, len(g.Devices))
	for _, d := range g.Devices {
		dev := kubeletplugin.Device{Requests: []string{d.Request}, PoolName: d.Pool, DeviceName: d.Device, CDIDeviceIDs: d.CDI}
		if d.Share != "" {
			share := types.UID(d.Share)
			dev.ShareID = &share
		}
		out = append(out, dev)
	}
	return out
}

// UnprepareResourceClaims implements kubeletplugin.DRAPlugin.
func (d *Driver) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	errs := make([]error, len(claims))
	var wg sync.WaitGroup
	for i, c := range claims {
		wg.Go(func() { errs[i] = d.unprepareOne(ctx, c) })
	}
	wg.Wait()
	out := make(map[types.UID]error, len(claims))
	for i, c := range claims {
		out[c.UID] = errs[i]
	}
	return out, nil
}

func (d *Driver) unprepareOne(ctx context.Context, c kubeletplugin.NamespacedObject) error {
	log := klog.FromContext(ctx).WithValues("claim", c.String(), "claimUID", c.UID)
	within, cancel := context.WithTimeout(ctx, d.cfg.AnswerWithin)
	defer cancel()
	_, err := d.flights.fly(within, d.base, string(c.UID), releasing, func(ctx context.Context) (sharing.Grant, error) {
		return sharing.Grant{}, d.pipe.unprepare(ctx, string(c.UID))
	})
	if err != nil {
		log.Info("Claim not released; the kubelet tries again", "reason", err.Error())
		return err
	}
	log.V(1).Info("Claim released")
	return nil
}

// WatchHealthStatus implements kubeletplugin.DRAPlugin. Health is told by taints
// in this release; the kubelet is told that it gets none.
func (d *Driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// HandleError implements kubeletplugin.DRAPlugin: what it is called for, a
// server that stopped listening, is fatal.
func (d *Driver) HandleError(ctx context.Context, err error, msg string) {
	klog.FromContext(ctx).Error(err, "Kubelet plugin", "doing", msg)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		d.fail(fmt.Errorf("%s: %w", msg, err))
	}
}
