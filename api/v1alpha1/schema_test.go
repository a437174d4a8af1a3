// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// object is a custom resource as the API server sees it.
type object = map[string]any

// kind is a CRD of the chart, and validates as an API server does.
type kind struct {
	definition *apiextensions.CustomResourceDefinition
	structural *schema.Structural
	openAPI    validation.SchemaValidator
	cel        *schemacel.Validator
}

// kinds reads the CRDs that the chart ships, by their kind.
func kinds(t *testing.T) map[string]*kind {
	t.Helper()
	files, err := filepath.Glob("../../deploy/helm/cotenant/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the chart has no CRDs: %v", err)
	}
	all := map[string]*kind{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		k := newKind(t, raw)
		all[k.definition.Spec.Names.Kind] = k
	}
	return all
}

func newKind(t *testing.T, raw []byte) *kind {
	t.Helper()
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &external); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	k := &kind{definition: &apiextensions.CustomResourceDefinition{}}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, k.definition, nil); err != nil {
		t.Fatal(err)
	}
	props, err := apiextensions.GetSchemaForVersion(k.definition, v1alpha1.Version)
	if err != nil {
		t.Fatal(err)
	}
	if k.structural, err = schema.NewStructural(props.OpenAPIV3Schema); err != nil {
		t.Fatal(err)
	}
	if k.openAPI, _, err = validation.NewSchemaValidator(props.OpenAPIV3Schema); err != nil {
		t.Fatal(err)
	}
	k.cel = schemacel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	return k
}

// refuse returns what an API server says against an object; old is nil at its
// creation. The rules run only on what the schema accepts, as there.
func (k *kind) refuse(t *testing.T, o, old object) field.ErrorList {
	t.Helper()
	unknown := pruning.PruneWithOptions(o, k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var errs field.ErrorList
	for _, path := range unknown {
		// kubectl asks for strict validation, and then this is an error.
		errs = append(errs, field.Invalid(field.NewPath(path), nil, "unknown field"))
	}
	defaulting.Default(o, k.structural)
	var was any
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, o, k.openAPI)...)
	} else {
		defaulting.Default(old, k.structural)
		was = old
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o, old, k.openAPI)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, o)...)
	if len(errs) > 0 {
		return errs
	}
	errs, _ = k.cel.Validate(t.Context(), nil, k.structural, o, was, celconfig.RuntimeCELCostBudget)
	return errs
}

func parse(t *testing.T, raw []byte) object {
	t.Helper()
	o := object{}
	js, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, raw)
	}
	dec := json.NewDecoder(bytes.NewReader(js))
	if err := dec.Decode(&o); err != nil {
		t.Fatal(err)
	}
	return integers(o).(object)
}

// integers turns JSON's numbers into the integers that they are to the API server.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = integers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// An API server accepts the CRDs: they are sound, and the rules in them are
// within its budget of cost.
func TestDefinitionsAreAccepted(t *testing.T) {
	for name, k := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			k.definition.Status.StoredVersions = []string{v1alpha1.Version}
			if errs := apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), k.definition); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}
