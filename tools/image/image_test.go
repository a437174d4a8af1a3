// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const spec = `
reference: cotenant.test/example:1
files:
- {source: tool, path: /usr/bin/tool}
- {text: "hello\n", path: /etc/greeting}
directories:
- {path: /tmp, mode: "1777"}
links:
- {directory: /bin, target: /usr/bin/tool, names: [b, a]}
entrypoint: [/usr/bin/tool]
user: "65532:65532"
env: {PATH: /usr/bin, HOME: /}
labels: {x: "y"}
`

// build runs the command, and returns its output file and the digest it printed.
func build(t *testing.T, yaml, source string, args ...string) (string, string) {
	t.Helper()
	dir := t.TempDir()
	file, output := filepath.Join(dir, "spec.yaml"), filepath.Join(dir, "image.tar")
	write(t, file, yaml)
	var printed bytes.Buffer
	cmd := newCommand()
	cmd.SetOut(&printed)
	cmd.SetArgs(append([]string{"--file", file, "--source", source, "--output", output, "--architecture", "amd64"}, args...))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return output, strings.TrimSpace(printed.String())
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// layer returns the entries of the image's only layer, in order.
func layer(t *testing.T, path string) (v1.Image, []*tar.Header, map[string][]byte) {
	t.Helper()
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %d, %v; want one", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var headers []*tar.Header
	contents := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return image, headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		headers, contents[h.Name] = append(headers, h), content
	}
}

// The image depends on content alone: not on when, where, by whom and with which
// modes the sources were written.
func TestTwiceTheSameDigest(t *testing.T) {
	var digests []string
	var tarballs [][]byte
	for i := range 2 {
		source := t.TempDir()
		write(t, filepath.Join(source, "tool"), "#!/bin/true\n")
		then := time.Unix(1_000_000_000*int64(i+1), 0)
		if err := os.Chtimes(filepath.Join(source, "tool"), then, then); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(source, "tool"), os.FileMode(0o600+i*0o111)); err != nil {
			t.Fatal(err)
		}
		output, digest := build(t, spec, source)
		content, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		digests, tarballs = append(digests, digest), append(tarballs, content)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v differ", digests)
	}
	if !bytes.Equal(tarballs[0], tarballs[1]) {
		t.Error("the tarballs differ")
	}

	source := t.TempDir()
	write(t, filepath.Join(source, "tool"), "#!/bin/false\n")
	if _, other := build(t, spec, source); other == digests[0] {
		t.Error("another content gives the same digest")
	}
}

func TestContent(t *testing.T) {
	source := t.TempDir()
	write(t, filepath.Join(source, "tool"), "#!/bin/true\n")
	output, digest := build(t, spec, source)
	image, headers, contents := layer(t, output)

	if got, err := image.Digest(); err != nil || got.String() != digest {
		t.Errorf("the tarball holds %v (%v), the command printed %s", got, err, digest)
	}
	var got []string
	for _, h := range headers {
		got = append(got, strings.TrimSpace(strings.Join([]string{h.Name, os.FileMode(h.Mode).String(), h.Linkname}, " ")))
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s: owner %d:%d %q, time %s; want root and 1970", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
	}
	want := []string{
		"bin/ -rwxr-xr-x", "bin/a -rwxrwxrwx /usr/bin/tool", "bin/b -rwxrwxrwx /usr/bin/tool",
		"etc/ -rwxr-xr-x", "etc/greeting -rw-r--r--",
		"tmp/ " + os.FileMode(0o1777).String(),
		"usr/ -rwxr-xr-x", "usr/bin/ -rwxr-xr-x", "usr/bin/tool -rwxr-xr-x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := string(contents["etc/greeting"]); got != "hello\n" {
		t.Errorf("greeting is %q", got)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "amd64" || config.OS != "linux" || config.Config.User != "65532:65532" ||
		!slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/tool"}) ||
		!slices.Equal(config.Config.Env, []string{"HOME=/", "PATH=/usr/bin"}) || config.Config.Labels["x"] != "y" {
		t.Errorf("configuration %+v", config)
	}
}

// A dynamic program runs with nothing but what the image has: the loader finds
// every library inside it.
func TestWithLibraries(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	output, _ := build(t, "reference: cotenant.test/shell:1\nfiles: [{source: "+shell+", path: /bin/sh}]\nwithLibraries: true\n", "/")
	_, headers, contents := layer(t, output)
	root := t.TempDir()
	var loader string
	var directories []string
	for _, h := range headers {
		at := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			directories = append(directories, at)
			continue
		}
		write(t, at, string(contents[h.Name]))
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(filepath.Base(at), "ld-linux") {
			loader = at
		}
	}
	if loader == "" {
		t.Fatalf("no dynamic loader among %d entries; is %s static?", len(headers), shell)
	}
	out, err := exec.Command(loader, "--inhibit-cache", "--library-path", strings.Join(directories, ":"), filepath.Join(root, "bin/sh"), "-c", "echo $((6*7)); cat /proc/$$/maps").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "42\n") {
		t.Fatalf("run the image's shell: %v\n%s", err, out)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, ".so") && !strings.Contains(line, root) {
			t.Errorf("a library from outside the image: %s", line)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct{ yaml, want string }{
		"no reference":     {"files: []", "reference"},
		"unknown field":    {"reference: a:1\nfile: []", `unknown field "file"`},
		"neither":          {"reference: a:1\nfiles: [{path: /x}]", "either a source or a text"},
		"both":             {"reference: a:1\nfiles: [{path: /x, source: a, text: b}]", "either a source or a text"},
		"mode as a number": {"reference: a:1\nfiles: [{path: /x, text: b, mode: 493}]", "mode"},
		"mode not octal":   {"reference: a:1\nfiles: [{path: /x, text: b, mode: \"0855\"}]", "octal"},
		"relative path":    {"reference: a:1\nfiles: [{path: x, text: b}]", `path "x"`},
		"unclean path":     {"reference: a:1\ndirectories: [{path: /a/../b}]", `path "/a/../b"`},
		"twice":            {"reference: a:1\nfiles: [{path: /x, text: b}, {path: /x, text: c}]", "/x is in the image twice"},
		"below a file":     {"reference: a:1\nfiles: [{path: /x, text: b}, {path: /x/y, text: c}]", "/x, which is no directory"},
		"missing source":   {"reference: a:1\nfiles: [{path: /x, source: not-there}]", "not-there"},
		"bad reference":    {"reference: 'A B'\nfiles: [{path: /x, text: b}]", "reference"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseSpec([]byte(test.yaml))
			output := filepath.Join(t.TempDir(), "image.tar")
			if err == nil {
				_, err = makeTarball(s, t.TempDir(), "amd64", output)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that contains %q", err, test.want)
			}
			if _, err := os.Stat(output); err == nil {
				t.Error("a refused image was written")
			}
		})
	}
}

// The images that ship are described by files that this program accepts.
func TestShippedSpecs(t *testing.T) {
	files, err := filepath.Glob("../../deploy/images/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseSpec(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		source := t.TempDir()
		for _, f := range s.Files {
			write(t, filepath.Join(source, f.Source), "#!/bin/true\n")
		}
		if _, err := makeTarball(s, source, "amd64", filepath.Join(t.TempDir(), "image.tar")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
