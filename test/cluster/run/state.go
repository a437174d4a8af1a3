// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cotenant-dev/cotenant/test/cluster/config"
)

// state is what a cluster should be: the content of cluster.json.
type state struct {
	Version       string       `json:"version"`
	Loopback      bool         `json:"loopback,omitempty"` // a control plane without namespaces
	With          []string     `json:"with"`               // daemons beside etcd and the API server
	FeatureGates  string       `json:"featureGates,omitempty"`
	RuntimeConfig string       `json:"runtimeConfig,omitempty"`
	Ports         config.Ports `json:"ports"`
	Published     int          `json:"published"` // the API server's port on the caller's 127.0.0.1
	Nodes         []nodeState  `json:"nodes,omitempty"`
}

type nodeState struct {
	NodeSpec
	Index int `json:"index"`
}

// NodeSpec is what a node should be.
type NodeSpec struct {
	Name   string            `json:"name"`
	Sim    string            `json:"sim,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// ParseNode reads `NAME[,sim=DIR][,label=KEY=VALUE]…`.
func ParseNode(text string) (NodeSpec, error) {
	fields := strings.Split(text, ",")
	n := NodeSpec{Name: fields[0]}
	if !nodeName.MatchString(n.Name) || len(n.Name) > 253 {
		return NodeSpec{}, fmt.Errorf("node %q: %q is no node name; use lower case letters, digits, '-' and '.'", text, n.Name)
	}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "sim":
			if value == "" {
				return NodeSpec{}, fmt.Errorf("node %q: sim needs a directory", text)
			}
			dir, err := filepath.Abs(value)
			if err != nil {
				return NodeSpec{}, err
			}
			n.Sim = dir
		case "label":
			name, v, ok := strings.Cut(value, "=")
			if !ok || name == "" {
				return NodeSpec{}, fmt.Errorf("node %q: write a label as label=KEY=VALUE, not %q", text, field)
			}
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[name] = v
		default:
			return NodeSpec{}, fmt.Errorf("node %q: %q is neither sim=DIR nor label=KEY=VALUE", text, field)
		}
	}
	return n, nil
}

var (
	nodeName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)
)

// addNode adds a node, or confirms one that is there with the same settings.
func (s *state) addNode(n NodeSpec) error {
	used := map[int]bool{}
	for _, old := range s.Nodes {
		used[old.Index] = true
		if old.Name != n.Name {
			continue
		}
		if old.Sim != n.Sim || !equal(old.Labels, n.Labels) {
			return fmt.Errorf("node %s is there with other settings (sim %q, labels %v): stop the cluster first, or choose another name", n.Name, old.Sim, old.Labels)
		}
		return nil
	}
	for index := 1; index <= config.MaxNodes; index++ {
		if !used[index] {
			s.Nodes = append(s.Nodes, nodeState{NodeSpec: n, Index: index})
			return nil
		}
	}
	return fmt.Errorf("node %s: a cluster has room for %d nodes", n.Name, config.MaxNodes)
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// node returns the node of that name.
func (s *state) node(name string) (nodeState, error) {
	var names []string
	for _, n := range s.Nodes {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return nodeState{}, fmt.Errorf("no node %q in this cluster; it has %v", name, names)
}

func (s *state) with(daemon string) bool { return slices.Contains(s.With, daemon) }

// load reads the state; false if the cluster does not exist.
func (c *Cluster) load() (state, bool, error) {
	var s state
	text, err := os.ReadFile(c.file("cluster.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, false, fmt.Errorf("%s: %w; `cluster down --name %s` removes it all", c.file("cluster.json"), err, c.Name)
	}
	return s, true, nil
}

// mustLoad reads the state of a cluster that has to exist.
func (c *Cluster) mustLoad() (state, error) {
	s, ok, err := c.load()
	if err == nil && !ok {
		err = fmt.Errorf("no cluster %q below %s: `cluster up --name %s` makes it", c.Name, c.Output.Run(""), c.Name)
	}
	return s, err
}

func (c *Cluster) save(s state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return c.write("cluster.json", append(text, '\n'), 0o644)
}

// write replaces a file in the run directory, as a whole or not at all.
func (c *Cluster) write(name string, content []byte, mode os.FileMode) error {
	path := c.file(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
