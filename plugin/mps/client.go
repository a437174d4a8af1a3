// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// Client asks the supervisor of this node. Its methods may be called from several
// goroutines.
//
// api.Unavailable: the supervisor does not answer, or is not able to run daemons,
// or the daemon does not serve yet. An error without a reason, see api.ReasonOf:
// a step on its side failed, and may not the next time.
type Client struct {
	socket string
	http   *http.Client
}

// New returns a client of the supervisor that listens on this socket.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// margin is how long before the caller's deadline the supervisor is to answer
// what it waits for: its answer says more than a deadline does.
const margin = 250 * time.Millisecond

// Ensure returns nil when the daemon serves with these settings. When ctx ends, or
// after Longest, only the wait is over: the daemon stays wanted, and asking again
// joins its start, which is what api.Pending says.
//
// api.Invalid: no daemon can have these settings, or the one of this ID has
// others. api.Canceled: it was stopped meanwhile.
func (c *Client) Ensure(ctx context.Context, d sharing.Daemon) error {
	s := settingsOf(d)
	if err := errors.Join(CheckID("", d.ID), s.Check()); err != nil {
		return err
	}
	wait := Longest
	if deadline, bounded := ctx.Deadline(); bounded {
		wait = min(wait, max(0, time.Until(deadline)-margin))
	}
	query := url.Values{"wait": {strconv.FormatInt(wait.Milliseconds(), 10)}}
	return c.call(ctx, http.MethodPut, "/v1/daemons/"+d.ID+"?"+query.Encode(), s, nil)
}

// Stop returns nil when there is nothing of the daemon any more, whether there was
// before or not.
//
// api.InUse: clients are connected to it.
func (c *Client) Stop(ctx context.Context, id string) error {
	if err := CheckID("", id); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/v1/daemons/"+id, nil, nil)
}

// Hello asks who the supervisor is.
func (c *Client) Hello(ctx context.Context) (Hello, error) {
	var h Hello
	return h, c.call(ctx, http.MethodGet, "/v1/hello", nil, &h)
}

// List asks how the daemons are, once their revision is not the one that is known
// or after Longest.
func (c *Client) List(ctx context.Context, known string) (List, error) {
	var l List
	return l, c.call(ctx, http.MethodGet, "/v1/daemons?"+url.Values{"after": {known}}.Encode(), nil, &l)
}

// Pause ends all daemons, with or without clients, and returns nil when nothing of
// the supervisor's has a GPU open. They stay wanted, and run again after Resume.
func (c *Client) Pause(ctx context.Context, why string) error {
	return c.call(ctx, http.MethodPut, "/v1/pause", Pause{Why: why}, nil)
}

// Resume lets the daemons run that were paused.
func (c *Client) Resume(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/v1/pause", nil, nil)
}

func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://cotenant-mps"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreached(err)
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return c.unreached(err)
	}
	if resp.StatusCode/100 != 2 {
		return problemOf(resp.StatusCode, raw)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("the MPS supervisor's answer to %s %s cannot be read: %w", method, path, err)
	}
	return nil
}

// unreached leaves out the request's made-up address.
func (c *Client) unreached(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		err = in.Err
	}
	return api.Errorf(api.Unavailable, "the MPS supervisor does not answer at %s: %w; is cotenant-mps running on this node?", c.socket, err)
}

func problemOf(status int, raw []byte) error {
	var p Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Message == "" {
		return fmt.Errorf("the MPS supervisor answered %s: %.200q", http.StatusText(status), raw)
	}
	if p.Reason == "" {
		return errors.New(p.Message)
	}
	return &api.Error{Reason: p.Reason, Message: p.Message}
}
