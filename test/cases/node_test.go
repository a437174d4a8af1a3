// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/cotenant-dev/cotenant/plugin"
	"github.com/cotenant-dev/cotenant/plugin/cdi"
	"github.com/cotenant-dev/cotenant/plugin/journal"
	pluginnvml "github.com/cotenant-dev/cotenant/plugin/nvml"
	"github.com/cotenant-dev/cotenant/plugin/selector"
	"github.com/cotenant-dev/cotenant/plugin/timeslice"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

const nodeName = "n1"

// node is one node: a simulated machine, the directories of a kubelet, an API
// server, and the plugin running in this process.
type node struct {
	t       *testing.T
	name    string
	machine *sim.Machine
	paths   plugin.Paths
	client  *fake.Clientset
	// wrap lets a test stand between the plugin and its specs.
	wrapSpecs func(plugin.Specs) plugin.Specs
	check     journal.Checker
	kinds     *kinds
	// gates are the API server's; its version is that of the client library.
	gates     gates
	daemons   *daemons
	lookEvery time.Duration
	retire    sharing.Patience
	answer    time.Duration

	store  *journal.Journal
	driver *plugin.Driver
	cancel context.CancelFunc
	done   chan error
	conn   *grpc.ClientConn

	writes slicesWritten
}

// slicesWritten counts what reached the API server.
type slicesWritten struct {
	mu sync.Mutex
	n  int
}

func (w *slicesWritten) add() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *slicesWritten) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

type option func(*node)

func named(name string) option { return func(n *node) { n.name = name } }

// below puts the kubelet's directories somewhere else.
func below(dir string) option {
	return func(n *node) {
		n.paths.Plugins, n.paths.Registry = filepath.Join(dir, "plugins"), filepath.Join(dir, "plugins_registry")
	}
}

// newNode makes a node with the products as its GPUs, with nothing running yet.
func newNode(t *testing.T, products []string, opts ...option) *node {
	t.Helper()
	return newNodeWith(t, "", products, opts...)
}

// newNodeWith is newNode with the stand-in programs of a directory in its driver
// root.
func newNodeWith(t *testing.T, bin string, products []string, opts ...option) *node {
	t.Helper()
	cfg := sim.Config{Bin: bin, Driver: "535.129.03", CUDA: "12.2", Seed: 1}
	for _, p := range products {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
	}
	return newNodeOf(t, cfg, opts...)
}

// newNodeOf is a node on a machine like this.
func newNodeOf(t *testing.T, cfg sim.Config, opts ...option) *node {
	t.Helper()
	// Socket paths are short; a test's own directory is named after the test.
	dir, err := os.MkdirTemp("", "case")
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	machine, err := sim.Create(filepath.Join(dir, "sim"), cfg)
	ok(t, err)
	root := machine.Root()
	// Where the stand-in programs find the machine.
	t.Setenv("COTENANT_SIM_STATE", machine.Dir())
	t.Setenv("COTENANT_SIM_DEV", filepath.Join(root, "dev"))
	n := &node{t: t, name: nodeName, check: journal.CheckFile, machine: machine, kinds: &kinds{}, lookEvery: 50 * time.Millisecond, gates: gates{version: "v1.37.2", partitions: true, shares: true}, paths: plugin.Paths{
		DriverRoot: root, HostDriverRoot: root, DevRoot: root,
		ProcRoot: filepath.Join(root, "proc"), SysRoot: filepath.Join(root, "sys"),
		CDIRoot: filepath.Join(dir, "cdi"), MPSRoot: "/run/cotenant/mps",
	}}
	below(filepath.Join(dir, "k"))(n)
	for _, o := range opts {
		o(n)
	}
	ok(t, os.MkdirAll(n.paths.Registry, 0o755))
	n.daemons = newDaemons(t, machine)
	n.client = newAPIServer(n)
	t.Cleanup(n.end)
	return n
}

// newAPIServer is client-go's fake with what a real one adds: generated names,
// UIDs, versions, and a count of slice writes.
func newAPIServer(n *node) *fake.Clientset {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, UID: "node-uid-1"}})
	n.gates.serve(client)
	var mu sync.Mutex
	serial := 0
	for _, verb := range []string{"create", "update"} {
		client.PrependReactor(verb, "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			w, ok := a.(interface{ GetObject() runtime.Object })
			if !ok {
				return false, nil, nil
			}
			obj, err := metaOf(w.GetObject())
			if err != nil {
				return true, nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			serial++
			// Caches of what was written tell old from new by it.
			obj.SetResourceVersion(strconv.Itoa(serial))
			if obj.GetName() == "" {
				obj.SetName(fmt.Sprintf("%s%05d", obj.GetGenerateName(), serial))
			}
			if obj.GetUID() == "" {
				obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", serial)))
			}
			return false, nil, nil
		})
	}
	for _, verb := range []string{"create", "update", "patch"} {
		client.PrependReactor(verb, "resourceslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if done, obj := n.gates.admit(a); done {
				return true, obj, nil
			}
			n.writes.add()
			return false, nil, nil
		})
	}
	return client
}

func metaOf(obj runtime.Object) (metav1.Object, error) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", obj)
	}
	return m, nil
}

// start runs the plugin until stop, and waits until it serves.
func (n *node) start() {
	n.t.Helper()
	ok(n.t, n.tryStart())
}

// tryStart is start for a plugin that may refuse to run.
func (n *node) tryStart() error {
	n.t.Helper()
	if err := n.launch(); err != nil {
		return err
	}
	return n.awaitServing()
}

// launch runs the plugin without waiting for it.
func (n *node) launch() error {
	n.t.Helper()
	if err := n.paths.Make(); err != nil {
		return err
	}
	store, _, err := journal.Open(n.paths.Journal(), n.check, time.Now())
	if err != nil {
		return err
	}
	if _, err := store.Mend(); err != nil {
		return err
	}
	load := n.paths.Load
	// A crash ends the work on a claim where it stands, as a kill does; what the
	// process would have undone afterwards stays as it is until the next start.
	mortal, err := sim.Open(n.machine.Dir(), sim.WithCrash(func() { panic("killed") }))
	if err != nil {
		return err
	}
	session := pluginnvml.New(func() (nvml.Interface, error) { return nvmlapi.New(mortal), nil }, n.paths.SysRoot, n.paths.ContainersCgroup, load)
	var specs plugin.Specs = cdi.New(cdi.Config{
		Dir: n.paths.CDIRoot, DriverRoot: n.paths.DriverRoot, HostDriverRoot: n.paths.HostDriverRoot, DevRoot: n.paths.DevRoot,
		ProcRoot: n.paths.ProcRoot, MPSRoot: n.paths.MPSRoot, HookPath: "/usr/bin/nvidia-cdi-hook", NVML: session.With, Load: load,
	})
	if n.wrapSpecs != nil {
		specs = n.wrapSpecs(specs)
	}
	n.store = store
	n.driver = plugin.New(plugin.Config{
		NodeName: n.name, Paths: n.paths, Client: n.client, GPUs: session, Specs: specs,
		Intervals: timeslice.New(n.paths.DriverRoot, load), Daemons: n.daemons,
		Records: store, Memory: store, LookEvery: n.lookEvery,
		Kinds: n.kinds, Match: selector.New().Match, Retire: n.retire, AnswerWithin: n.answer,
	})
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), ktesting.NewLogger(n.t, ktesting.NewConfig())))
	n.cancel, n.done = cancel, make(chan error, 1)
	go func() {
		err := n.driver.Run(ctx)
		session.Close()
		n.done <- err
	}()
	return nil
}

// awaitEnd returns what Run ended with by itself.
func (n *node) awaitEnd() error {
	n.t.Helper()
	select {
	case err := <-n.done:
		n.done = nil
		return joinClose(err, n.store)
	case <-time.After(soon):
		n.t.Fatal("the plugin goes on")
		return nil
	}
}

// awaitServing returns nil when the kubelet's socket answers, or the error that
// Run ended with.
func (n *node) awaitServing() error {
	n.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case err := <-n.done:
			n.done = nil
			return joinClose(err, n.store)
		default:
		}
		if answers(n.paths.Socket()) && answers(n.paths.RegistrySocket()) {
			n.conn = n.dial(n.paths.Socket())
			return nil
		}
		time.Sleep(2 * time.Millisecond) // polls a file of another goroutine
	}
	n.t.Fatal("the plugin does not serve after 20 s")
	return nil
}

func answers(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func joinClose(err error, store *journal.Journal) error {
	if cerr := store.Close(); err == nil {
		return cerr
	}
	return err
}

func (n *node) dial(sock string) *grpc.ClientConn {
	n.t.Helper()
	conn, err := grpc.NewClient("unix://"+sock, grpc.WithTransportCredentials(insecure.NewCredentials()))
	ok(n.t, err)
	return conn
}

// stop ends the plugin as SIGTERM does.
func (n *node) stop() {
	n.t.Helper()
	if n.done == nil {
		return
	}
	n.conn.Close()
	n.cancel()
	err := <-n.done
	n.done = nil
	ok(n.t, joinClose(err, n.store))
}

// restart is R: same boot, same directories, a new process' worth of state.
func (n *node) restart() {
	n.t.Helper()
	n.stop()
	n.start()
}

// reboot is B: the boot id changes, the run directory vanishes.
func (n *node) reboot() {
	n.t.Helper()
	n.stop()
	ok(n.t, n.machine.Reboot())
	ok(n.t, os.RemoveAll(n.paths.CDIRoot))
	n.start()
}

// end stops the plugin and proves that holds and claims agree.
func (n *node) end() {
	n.stop()
	if _, err := os.Stat(n.paths.Journal()); err != nil {
		return
	}
	store, damage, err := journal.Open(n.paths.Journal(), journal.CheckFile, time.Now())
	ok(n.t, err)
	defer store.Close()
	if damage != nil {
		n.t.Errorf("the journal is damaged at the end: %v", damage.Why)
	}
	bad, err := store.Check()
	ok(n.t, err)
	for _, b := range bad {
		n.t.Errorf("journal: %s", b)
	}
}

func (n *node) kubelet() drav1.DRAPluginClient { return drav1.NewDRAPluginClient(n.conn) }

// P is NodePrepareResources for one claim.
func (n *node) P(c *resourceapi.ResourceClaim) ([]*drav1.Device, error) {
	n.t.Helper()
	return prepare(n.kubelet(), c)
}

func prepare(k drav1.DRAPluginClient, c *resourceapi.ResourceClaim) ([]*drav1.Device, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	r, err := k.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: []*drav1.Claim{ref(c)}})
	if err != nil {
		return nil, err
	}
	got := r.Claims[string(c.UID)]
	if got == nil {
		return nil, fmt.Errorf("no answer for claim %s", c.Name)
	}
	if got.Error != "" {
		return nil, fmt.Errorf("%s", got.Error)
	}
	return got.Devices, nil
}

// U is NodeUnprepareResources for one claim.
func (n *node) U(c *resourceapi.ResourceClaim) error {
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	r, err := n.kubelet().NodeUnprepareResources(ctx, &drav1.NodeUnprepareResourcesRequest{Claims: []*drav1.Claim{ref(c)}})
	if err != nil {
		return err
	}
	got := r.Claims[string(c.UID)]
	if got == nil {
		return fmt.Errorf("no answer for claim %s", c.Name)
	}
	if got.Error != "" {
		return fmt.Errorf("%s", got.Error)
	}
	return nil
}

func ref(c *resourceapi.ResourceClaim) *drav1.Claim {
	return &drav1.Claim{Namespace: c.Namespace, Name: c.Name, Uid: string(c.UID)}
}

// claim creates a claim that was allocated the devices, one request each.
func (n *node) claim(name string, devices ...string) *resourceapi.ResourceClaim {
	n.t.Helper()
	var results []resourceapi.DeviceRequestAllocationResult
	for i, d := range devices {
		request := "gpu"
		if i > 0 {
			request = fmt.Sprintf("gpu%d", i)
		}
		results = append(results, resourceapi.DeviceRequestAllocationResult{Request: request, Driver: "gpu.nvidia.com", Pool: n.name, Device: d})
	}
	return n.allocate(name, results, nil)
}

// adminClaim is claim with adminAccess.
func (n *node) adminClaim(name, device string, config ...resourceapi.DeviceAllocationConfiguration) *resourceapi.ResourceClaim {
	admin := true
	return n.allocate(name, []resourceapi.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.nvidia.com", Pool: n.name, Device: device, AdminAccess: &admin}}, config)
}

func (n *node) allocate(name string, results []resourceapi.DeviceRequestAllocationResult, config []resourceapi.DeviceAllocationConfiguration) *resourceapi.ResourceClaim {
	n.t.Helper()
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: results, Config: config}}
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod-" + name, UID: "pod"}}
	got, err := n.client.ResourceV1().ResourceClaims("ns").Create(context.Background(), c, metav1.CreateOptions{})
	ok(n.t, err)
	return got
}

func (n *node) deleteClaim(c *resourceapi.ResourceClaim) {
	n.t.Helper()
	ok(n.t, n.client.ResourceV1().ResourceClaims(c.Namespace).Delete(context.Background(), c.Name, metav1.DeleteOptions{}))
}
