// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RecordName is the name of the ConfigMap that says what was created.
const RecordName = "cotenant-defaults"

// What the record says of an object.
const (
	intended = "intended" // it may or may not have been created
	created  = "created"  // it is the admin's
)

// intend returns the record with a word about every object: those that it did
// not know are intended from now on.
func (c *Creator) intend(ctx context.Context, all []object) (*corev1.ConfigMap, error) {
	record := &corev1.ConfigMap{}
	record.Namespace, record.Name = c.namespace, RecordName
	err := c.live.Get(ctx, client.ObjectKeyFromObject(record), record)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("read the record of defaults: %w", err)
	}
	if !note(record, all) {
		return record, nil
	}
	if missing {
		err = c.client.Create(ctx, record, client.FieldOwner(fieldOwner))
	} else {
		err = c.client.Update(ctx, record, client.FieldOwner(fieldOwner))
	}
	if err != nil {
		return nil, fmt.Errorf("write the record of defaults: %w", err)
	}
	return record, nil
}

// note says whether there was an object that the record did not know.
func note(record *corev1.ConfigMap, all []object) bool {
	changed := false
	for _, o := range all {
		if _, known := record.Data[o.key]; known {
			continue
		}
		if record.Data == nil {
			record.Data = map[string]string{}
		}
		record.Data[o.key] = intended
		changed = true
	}
	return changed
}

// settle records that an object was created.
func (c *Creator) settle(ctx context.Context, record *corev1.ConfigMap, o object) error {
	record.Data[o.key] = created
	if err := c.client.Update(ctx, record, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("record that %s was created: %w", o.key, err)
	}
	return nil
}
