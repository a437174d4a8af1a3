// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/plugin/journal"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

// advertise sets what the device plugin offers on the node.
func (n *node) advertise(gpus string) {
	n.t.Helper()
	api := n.client.CoreV1().Nodes()
	node, err := api.Get(context.Background(), n.name, metav1.GetOptions{})
	ok(n.t, err)
	node.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	_, err = api.UpdateStatus(context.Background(), node, metav1.UpdateOptions{})
	ok(n.t, err)
}

// checkFile is set in the child that checks a journal; see TestMain.
const checkFile = "COTENANT_TEST_CHECK_JOURNAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(checkFile); path != "" {
		if err := journal.CheckFile(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := userns.Main(m)
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// checkInChild is what the plugin does: another process maps the file.
func checkInChild(path string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), checkFile+"="+path)
	cmd.Stderr = io.Discard
	return cmd.Run()
}

// A damaged journal never takes the plugin down: it is set aside, every GPU is
// held until claims and hardware were compared, and the prepared claim keeps its
// GPU.
func TestDamagedJournal(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.check = checkInChild
	n.start()
	c := n.claim("c", "gpu-0")
	before, err := n.P(c)
	ok(t, err)
	n.stop()
	sound, err := os.ReadFile(n.paths.Journal())
	ok(t, err)
	for what, harm := range damages(sound) {
		t.Run(what, func(t *testing.T) {
			ok(t, os.WriteFile(n.paths.Journal(), harm, 0o600))
			n.t = t
			n.start()
			defer n.stop()
			// c keeps its GPU: nobody else gets it at any time, and c is answered.
			other := n.claim("other", "gpu-0")
			defer n.deleteClaim(other)
			eventually(t, soon, func() string {
				_, err := n.P(other)
				refused(t, err)
				if !strings.Contains(err.Error(), "held by claim ns/c (UID "+string(c.UID)) {
					return err.Error()
				}
				return ""
			})
			again, err := n.P(c)
			ok(t, err)
			same(t, "the grant", asJSON(t, again), asJSON(t, before))
			n.awaitDevices("gpu-0", "gpu-1")
		})
	}
	n.t = t
}

// damages are one of each kind; the journal's own tests go through all places.
func damages(sound []byte) map[string][]byte {
	return map[string][]byte{
		"empty":              {},
		"no journal":         []byte("not a journal"),
		"cut in a meta page": sound[:os.Getpagesize()/2],
		"cut in half":        sound[:len(sound)/2+1],
		"all zeros":          make([]byte, len(sound)),
		"meta pages zeroed":  append(make([]byte, 2*os.Getpagesize()), sound[2*os.Getpagesize():]...),
	}
}

// While the API server is away nothing can be compared: every GPU stays held,
// and what runs on a GPU that no claim accounts for keeps it held afterwards.
func TestLostJournalHoldsTheNode(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.check = checkInChild
	n.start()
	c := n.claim("c", "gpu-0")
	_, err := n.P(c)
	ok(t, err)
	n.stop()
	n.deleteClaim(c) // force-deleted while the plugin is down; its process lives on
	ok(t, n.machine.AddProcess(sim.Process{PID: os.Getpid(), GPU: 0, MemoryMiB: 1}))
	ok(t, os.WriteFile(n.paths.Journal(), []byte("not a journal"), 0o600))
	n.start()
	n.awaitTaint("gpu-0", "cotenant.dev/held")
	n.awaitTaint("gpu-1", "")
	_, err = n.P(n.claim("next", "gpu-0"))
	refused(t, err, "set apart", "processes use it")
	_, err = n.P(n.claim("beside", "gpu-1"))
	ok(t, err)
	ok(t, n.machine.KillProcess(os.Getpid()))
	n.awaitTaint("gpu-0", "")
}

// A second plugin on the same journal fails at once and says so.
func TestSecondPlugin(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	begun := time.Now()
	_, _, err := journal.Open(n.paths.Journal(), checkInChild, time.Now())
	refused(t, err, "in use", n.paths.Journal())
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %s to say so", took)
	}
	c := n.claim("c", "gpu-0")
	_, err = n.P(c)
	ok(t, err)
}
