//go:build keda

package deploy

import (
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func TestKubernetes_ScalersAreOfKEDAsType(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays() {
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "kubernetes/overlays/"+overlay)
		if err != nil {
			t.Fatal(err)
		}
		scalers := 0
		for _, resource := range made.Resources() {
			if resource.GetKind() != "ScaledObject" {
				continue
			}
			scalers++
			text, err := resource.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			var s keda.ScaledObject
			if err := decodeStrictly(text, &s); err != nil || s.Spec.ScaleTargetRef == nil || len(s.Spec.Triggers) == 0 {
				t.Errorf("%s: %v, %+v", overlay, err, s.Spec)
			}
		}
		if scalers != 1 {
			t.Errorf("%s has %d ScaledObjects", overlay, scalers)
		}
	}
}
